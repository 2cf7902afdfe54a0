#!/usr/bin/env bash
# Unpacks an OCI image and tries it: its entry point in its root file system, with its
# environment, without a network.
#   scripts/image_smoke.sh out/dist/bentpipe-VERSION-oci.tar
# It needs umoci and unshare. Without root, a user namespace takes its place.
set -euo pipefail

image=$(realpath "$1")
PATH=$PATH:/usr/sbin:/sbin # chroot and mount, where a user's own path lacks them
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

mkdir layout
tar -xf "$image" -C layout
name=$(umoci ls --layout layout)
alone=(unshare --mount --net --pid --fork)
if [ "$(id -u)" = 0 ]; then
    umoci unpack --image "layout:$name" bundle
else
    umoci unpack --rootless --image "layout:$name" bundle
    alone+=(--map-root-user)
fi

# What a container runtime would start: the entry point, in the environment and the
# directory that the image names.
mapfile -t settings < <(python3 - <<'PYTHON'
import json

process = json.load(open("bundle/config.json"))["process"]
print(process["cwd"], process["args"][0], *process["env"], sep="\n")
PYTHON
)
inside='mount --rbind /dev rootfs/dev && mount -t proc proc rootfs/proc && exec chroot rootfs env -i --chdir="$@"'

try() {
    echo "--- $*"
    (cd bundle && "${alone[@]}" sh -c "$inside" sh "${settings[0]}" "${settings[@]:2}" "${settings[1]}" "$@") >said 2>&1 || {
        cat said
        echo "failed in the image: bentpipe $*" >&2
        exit 1
    }
    head -n 4 said
}

try --version
[[ $(cat said) == "bentpipe ${name#*:}" ]] || {
    echo "the image is called $name" >&2
    exit 1
}
try doctor
grep "^ *kernel support" said
try run geo
try compare --link geo --cc cubic,bbr --for "10 s"
try compare --link geo --cc cubic,hybla --for "10 s" --figure figure.svg
echo "$(basename "$image"): $name works in its own root file system"
