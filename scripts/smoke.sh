#!/usr/bin/env bash
# Installs a wheel into an empty environment, in an empty directory and without Rust, and tries
# what a new user tries first.
#   scripts/smoke.sh out/dist/bentpipe-*.whl [PYTHON]
set -euo pipefail

wheel=$(realpath "$1")
python=$(realpath -s "$(command -v "${2:-python3}")") # the name itself, as what it points at is another environment
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

"$python" -m venv --clear env
# Nothing may be compiled: a package without a wheel is an error. Python translates the modules that it
# is asked for, and not all.
env/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: "$wheel"
export PATH="$place/env/bin:/usr/bin:/bin" COLUMNS=100
unset PYTHONPATH

try() {
    echo "--- $*"
    "$@" >said 2>&1 || {
        cat said
        echo "failed: $*" >&2
        exit 1
    }
    head -n 4 said
}

cat >mine.py <<'PYTHON'
import bentpipe as bp


class Mine(bp.Controller):
    """Grows by one segment in a round trip and halves at congestion."""

    def on_ack(self, flow, ack):
        if flow["phase"] != "recovery" and flow["cwnd_limited"]:
            self.cwnd += ack["acked"] / flow["mss"] / self.cwnd

    def on_congestion(self, flow, why):
        self.ssthresh = max(self.cwnd / 2, 2)
        self.cwnd = 1 if why == "timeout" else self.ssthresh
PYTHON

try bentpipe --version
said_version=$(bentpipe --version)
[[ $(basename "$wheel") == bentpipe-"${said_version#bentpipe }"-* ]] || {
    echo "$said_version is not the version in the name of $(basename "$wheel")" >&2
    exit 1
}
try bentpipe doctor
grep -q "^ *kernel support" said || {
    echo "bentpipe doctor does not name the kernel support" >&2
    exit 1
}
grep "^ *kernel support" said
# What is attached, by this wheel or another: nothing, where nothing is.
BENTPIPE_STATE=$place/state try bentpipe kernel status --json
grep -q '"controllers": \[\]' said || [ -n "$(grep -o '"attached": false' said)" ] || {
    echo "bentpipe kernel status --json has controllers where nothing is attached" >&2
    exit 1
}
try bentpipe kernel list
supported='import json, sys; from bentpipe import _core; sys.exit(not json.loads(_core.kernel_support())["supported"])'
if python -c "$supported"; then # the programs in the wheel are loaded, as root where the kernel can
    try bentpipe kernel run star -- true
fi
try bentpipe run geo --out result
try bentpipe compare --link geo --cc cubic,mine.py:Mine --for "20 s" --seeds 2 --ber 1e-6
try bentpipe study list
try bentpipe study show a-liad
try bentpipe scenario list
try bentpipe scenario new --out my.toml
try bentpipe run my.toml
try bentpipe sweep my.toml --vary 'flow.0.cc=["cubic","mine.py:Mine"]' --seeds 2 --set 'duration="10 s"' --out losses
try bentpipe plot throughput-delay losses -o figure.svg
try bentpipe report losses
try bentpipe advise --link geo --cc cubic,hybla --budget "3 s" --out advice
try bentpipe evaluate reno --quick --only silence --out evaluated
try bentpipe schema
# A wheel of `make wheel WEB=` may lack the simulator for browsers.
if python -c 'from bentpipe.web.installed import MODULE; import sys; sys.exit(not MODULE.is_file())'; then
    try bentpipe web geo -o page.html
fi
try python -c 'import bentpipe as bp; print(bp.run(bp.Scenario.load("vsat")).flows)'
# The whole package is there: every module can be found, and the types are published.
try python -c 'import bentpipe.papers, bentpipe.studies, bentpipe.orbit, pathlib as p
assert (p.Path(bentpipe.__file__).parent / "py.typed").exists()'
echo "$(basename "$wheel"): installed by $("$python" --version) into an empty environment, and it works"
