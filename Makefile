# Everything that a person does here, by name. `make` alone prints the list.
# Stamps under .venv remember what has been done, so nothing is installed or built twice.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:

# rustup's cargo comes first: another one, beside its clippy and rustfmt, would compile everything anew. That of
# scripts/rust.sh comes last, where there is no other.
export PATH := $(HOME)/.cargo/bin:$(PATH):$(CURDIR)/target/rust/bin
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes. Each would compile the package's modules again.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml -o -path '*/bpf/*.[ch]')

# Before cargo or maturin: sets $$extension, $$workspace and $$everything, what can be built here.
FEATURES := . scripts/features.sh;

# The Rust documentation. `make docs` is for it; `make lint` only asks whether it can be made.
RUSTDOC := RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# What `make docs-check` asks whether it is up to date: parts of scripts/docs.py, those that take longest
# first, and two programs.
CHECKED := plots_md experiments linux_truth_md controllers_md queues_md scenario_md lab_notebook models_py validate performance_md zoo_md \
	evaluate_md quic_md tools/emulators python/tests/witness/closed_forms.py
JOBS ?= $(shell nproc)

# What is attacked, and for how many processor seconds in all.
FUZZ_TARGETS := scenario drill receiver sender run
FUZZ_SECONDS ?= 60

# The studies that `make study` runs, and how much of them: --quick or --full.
STUDY ?= all
MODE ?= --full
OUT ?= out/studies

# Processes for the Python tests: auto is one per processor, but not more than four.
WORKERS ?= auto

# Where `make dist` and `make site` write, and the interpreters with which a wheel is tried.
DIST ?= out/dist
SITE ?= out/site
PYTHONS ?= $(BIN)/python

.PHONY: help setup build study test test-rust test-python test-python-root test-python-others test-python-long lint lint-rust lint-python fmt fmt-check docs docs-check site buffers leo satellite probabilities reproducing validate bench bench-emu instructions fuzz fuzz-tools nightly dist dist-arm wheel image release clean oracle quic web web-check elsewhere system always

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# What other targets need as well is made first, by this make; another of them may run at the same time.
setup: .venv/.features ## .venv with every dependency, and the compiled extension in it
	@$(MAKE) --jobs 2 .venv/.built

build: setup ## the same: build what has changed

study: setup ## the main job: repeat the published experiments (STUDY=all MODE=--full); goes on if interrupted
	$(BIN)/bentpipe study run $(STUDY) $(MODE) --out $(OUT)

test: test-rust test-python ## every test, Rust and Python

# The bindings have no tests of their own in Rust (Python tests them). A test binary would need libpython.
test-rust: setup
	$(FEATURES) cargo test --workspace --exclude bentpipe-py --features bentpipe-quic/tools $$workspace

# Tests marked root look at or change the networks and the kernel of the machine, so no two run at once. They
# mostly wait; the others run meanwhile, files side by side. One run with `--dist loadgroup` would do, but
# with pytest 9.2 that groups nothing (pytest-xdist issue 1386).
test-python: setup
	@$(MAKE) --jobs 2 --output-sync=line test-python-root test-python-others

test-python-root:
	$(BIN)/python -m pytest -m root --durations 10

test-python-others:
	$(BIN)/python -m pytest -m 'not root' -n $(WORKERS) --maxprocesses 4 --dist loadfile --no-loadscope-reorder --durations 20

lint: setup ## clippy, rustdoc, ruff, mypy, the stubs against the extension, and the English; warnings are errors
	@$(MAKE) --jobs $(JOBS) --output-sync=target lint-rust lint-python

# The targets of the fuzzer are looked at and not linked, so its library in C++ need not be compiled.
lint-rust:
	$(FEATURES) cargo clippy --workspace --all-targets --features bentpipe-quic/tools $$everything -- -D warnings
	CUSTOM_LIBFUZZER_PATH=/not/linked/libfuzzer.a cargo check --quiet --manifest-path fuzz/Cargo.toml --target-dir target
	$(RUSTDOC)

# The stubs are compared with the extension. mypy has just compared the rest of the package with them. Each
# folder is looked at by itself, as two of them have a __main__.py.
lint-python:
	$(BIN)/ruff check .
	$(BIN)/mypy
	for folder in scripts tools tools/oracle tools/emulators; do MYPYPATH=scripts $(BIN)/mypy $$folder/*.py; done
	$(FEATURES) $(BIN)/python -m mypy.stubtest bentpipe._core --ignore-unused-allowlist \
		--mypy-config-file <(printf '[mypy]\nfollow_imports = skip\n') \
		--allowlist <([ -n "$$extension" ] || echo 'bentpipe\._core\.(Kernel.*|kernel_detach)')

fmt: setup ## lay out all code
	cargo fmt --all
	$(BIN)/ruff format .

fmt-check: setup
	cargo fmt --all --check
	$(BIN)/ruff format --check .

docs: setup ## all pages, figures and classes that are written by programs, and the Rust documentation (five minutes)
	$(FEATURES) $(BIN)/python scripts/docs.py $$workspace
	$(BIN)/python scripts/readme_figures.py
	$(BIN)/python scripts/validate.py closed-forms equilibria
	$(RUSTDOC)

probabilities: setup ## how often other seeds reproduce each claim: python/bentpipe/studies/probabilities.csv (an hour; goes on if interrupted)
	$(BIN)/bentpipe study run all --full --out $(OUT)
	$(BIN)/bentpipe study probabilities all --out $(OUT) --keep python/bentpipe/studies/probabilities.csv

reproducing: setup ## docs/reproducing.md and docs/reproducing/, from a full run of all studies; after make probabilities
	$(BIN)/bentpipe study run all --full --out $(OUT)
	$(BIN)/python scripts/reproducing_md.py $(OUT)

# They do not depend on each other; what each says comes in one piece.
docs-check: setup
	@$(MAKE) --jobs $(JOBS) --output-sync=target $(CHECKED:%=check/%)

check/%:
	$(BIN)/python $(if $(findstring /,$*),$*,scripts/docs.py $*) --check

check/quic_md:
	$(FEATURES) $(BIN)/python scripts/docs.py quic_md --check $$workspace

quic: .venv/.made ## .venv/bin/bentpipe-quic: QUIC with the controllers of the laboratory (docs/quic.md)
	cargo build --release -p bentpipe-quic --features tools
	install -m 755 target/release/bentpipe-quic $(BIN)/bentpipe-quic

# The compiler is in target/rust, and all that it makes in target/web, apart from all others.
web: setup ## the simulator as one page for every browser, which needs no server (out/web/bentpipe.html; docs/web.md)
	@$(MAKE) $(MODULE)
	@mkdir -p out/web
	$(BIN)/bentpipe web -o out/web/bentpipe.html
	$(BIN)/python scripts/lab_page.py $(MODULE) out/web/lab.html

# In the package, so that wheels have it. WEB= leaves it out of a wheel and of the site, where nothing has compiled
# it yet: that takes five minutes of a processor.
WEB ?= yes
MODULE := python/bentpipe/web/bentpipe.wasm
$(MODULE): $(RUST) scripts/web.sh scripts/rust.sh
	module=$$(scripts/web.sh target/web); install -m 644 "$$module" $@

elsewhere: ## does the Python extension compile for macOS and Windows? (docs/releasing.md)
	scripts/elsewhere.sh target/web

# Shipped scenarios, and random ones.
SHIPPED = scenarios/*.toml scenarios/zoo/*.toml scenarios/bench/*.toml
RANDOM = out/web/random/*.toml
PAGE_TESTS := $(addprefix python/tests/test_web,.py _lab.py _link.py _own.py _play.py)

web-check: web-bits web ## the page's simulator against this one, bit for bit on shipped and on 300 random scenarios, and the page in Chromium
	$(BIN)/python -m pytest $(PAGE_TESTS)
	$(BIN)/python -m pytest -rP python/tests/test_web_speed.py

# PROFILE=web-bits compiles a module for this alone in half the time: CI does.
web-bits: setup ## the comparison of bits alone, without a browser
	@command -v node >/dev/null || { echo "make web-bits needs node (Debian: nodejs)"; exit 1; }
	@mkdir -p out/web
	cargo build --release --quiet --package bentpipe-web --bin bits
	$(BIN)/python tools/random_scenarios.py out/web/random 300
	module=$$(scripts/web.sh target/web $(PROFILE)) && target/release/bits $(SHIPPED) $(RANDOM) >out/web/native.txt && { \
		node crates/web/bits.mjs "$$module" $(SHIPPED) >out/web/shipped.txt & \
		node crates/web/bits.mjs "$$module" $(RANDOM) >out/web/random.txt && wait $$!; }
	cat out/web/shipped.txt out/web/random.txt | cmp - out/web/native.txt
	@echo "$$(wc -l <out/web/native.txt) scenarios, the same in every bit"

web-firefox: web ## the tests of the page in a Firefox of Debian's packages, which is unpacked into target/firefox
	firefox=$$(scripts/firefox.sh target/firefox) && BENTPIPE_FIREFOX=$$firefox $(BIN)/python -m pytest $(PAGE_TESTS)

site: $(if $(WEB),web,setup) .venv/.docs .venv/.pictures ## the documentation as pages that are read without a server; runs the notebooks (out/site/index.html)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir $(SITE)
	@echo "$(SITE)/index.html"

# Those that git ignores, again if numbers or the look of figures have changed.
PICTURES := $(shell sed -n 's|^/\(docs/.*\)|\1|p' .gitignore)
.venv/.pictures: .gitignore docs/gallery.md docs/plots.md docs/leo.csv docs/satellite-2026.csv \
		docs/linux-truth/curves.csv docs/validation/equilibria.csv $(wildcard python/bentpipe/plot/*.py) | setup
	$(BIN)/python scripts/docs.py --pictures
	@touch $@

buffers: setup ## docs/buffers.md: the runs that docs/buffers.csv lacks, and the figure
	$(BIN)/bentpipe study run buffers --full --out docs

leo: setup ## docs/leo.md: runs of all controllers over moving paths that docs/leo.csv lacks, and figures
	$(BIN)/bentpipe study run leo --full --out docs

satellite: setup ## docs/satellite-2026.md: the runs that docs/satellite-2026.csv lacks, and figures
	$(BIN)/bentpipe study run satellite-2026 --full --out docs

validate: setup ## all witnesses in full, half an hour; writes docs/validation/*.csv, figures and docs/validation.md
	$(BIN)/python scripts/validate.py

oracle: | system ## record the Linux kernel's own algorithms ACK by ACK in QEMU; writes crates/cc/tests/linux/*.csv (docs/oracle.md)
	"$$(scripts/system.sh python)" tools/oracle record

bench: setup ## data packets per CPU second beside ns-2 and ns-3, on nine kinds of scenario; writes docs/performance.md (half an hour)
	$(BIN)/bentpipe bench --out docs/performance.json
	$(BIN)/bentpipe bench --only w --out docs/performance-web.json
	$(BIN)/python scripts/docs.py performance_md

bench-emu: setup ## the emulator's lateness, cost and maximum beside mahimahi and netem, as root; docs/emulator.md (15 minutes)
	$(BIN)/python tools/emulators

instructions: $(if $(UPDATE),setup) | system ## instructions per packet against those of the last change, within 5 % (UPDATE=1 writes them)
	$(FEATURES) "$$(scripts/system.sh python)" scripts/instructions.py $$extension $(if $(UPDATE),--update)
	$(if $(UPDATE),$(BIN)/python scripts/docs.py performance_md)

fuzz: ## attack what reads input, both ends of a connection and whole runs (FUZZ_SECONDS=60, shared by all targets)
	@rustup toolchain list | grep -q '^nightly' || { echo "make fuzz needs nightly Rust; run make fuzz-tools"; exit 1; }
	@cargo fuzz --version >/dev/null 2>&1 || { echo "make fuzz needs cargo-fuzz; run make fuzz-tools"; exit 1; }
	cargo +nightly fuzz build --fuzz-dir fuzz
	@$(MAKE) --jobs $(JOBS) --output-sync=target $(FUZZ_TARGETS:%=fuzzed/%)

# Seeds are what is there already in the format that a target reads.
fuzzed/scenario: SEEDS = scenarios
fuzzed/drill: SEEDS = crates/drill/tests/packetdrill/scripts
fuzzed/%:
	@mkdir -p fuzz/corpus/$*
	cargo +nightly fuzz run --fuzz-dir fuzz $* fuzz/corpus/$* $(SEEDS) -- -timeout=20 -len_control=0 -detect_leaks=0 \
		-max_len=4096 -verbosity=0 -print_final_stats=1 \
		-max_total_time=$$(($(FUZZ_SECONDS) / $(words $(FUZZ_TARGETS))))

nightly: fuzz-tools ## what is too long for every change: long forms of the tests, advice and the page on every scenario, half an hour of fuzzing
	PROPTEST_CASES=2000 $(MAKE) test-rust
	$(MAKE) test-python-long
	$(BIN)/python tools/advise_scenarios.py
	$(MAKE) web-check web-firefox elsewhere
	$(MAKE) fuzz FUZZ_SECONDS=1800

# Of the tests that are not marked root; what has a long form asks python/tests/forms.py.
test-python-long: export BENTPIPE_TESTS := long
test-python-long: setup
	@$(MAKE) test-python-others

# cargo-fuzz only starts others, so it need not be fast.
fuzz-tools: ## nightly Rust and cargo-fuzz, if they are missing
	@rustup toolchain list | grep -q '^nightly' || rustup toolchain install nightly --profile minimal
	@cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked --debug

# zig links against an older C library than this machine's, so that the wheel is true to its name. The sdist
# lacks the crates that Python does not need, and cargo takes their packages out of its copy of Cargo.lock;
# --locked would refuse that, so it asks about the original.
ZIGGED := VIRTUAL_ENV=$(CURDIR)/.venv PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --zig \
	--compatibility manylinux_2_28 --out $(DIST)

dist: .venv/.installed $(MODULE) ## an sdist, and from it a wheel (Linux, glibc 2.28 or later), tried without Rust; a wheel for ARM, and the page (docs/releasing.md)
	rm -rf $(DIST)
	$(BIN)/python -m pip install --quiet ziglang
	cargo metadata --locked --format-version 1 >/dev/null
	$(FEATURES) apart "$(CURDIR)/target/apart"; $(ZIGGED) --sdist $$extension
	for python in $(PYTHONS); do scripts/smoke.sh $(DIST)/*_$$(uname -m).whl "$$python"; done
	@[ "$$(uname -m)" != x86_64 ] || $(MAKE) dist-arm
	@$(MAKE) web
	wheel=$$(basename $(DIST)/*_$$(uname -m).whl); install -m 644 out/web/bentpipe.html "$(DIST)/$$(cut -d- -f1-2 <<<"$$wheel").html"

# Compiled here and not run. Without the kernel's datapath, as libelf.a and libz.a are those of this machine.
dist-arm: target = aarch64-unknown-linux-gnu
dist-arm:
	@if [ -d "$$(rustc --print sysroot)/lib/rustlib/$(target)" ] || rustup target add $(target); then \
		$(ZIGGED) --locked --target $(target); \
	else echo "no wheel for ARM: Rust has no libraries for $(target) here, and rustup cannot add them"; fi

wheel: setup $(if $(WEB),$(MODULE)) ## a wheel of what is built, for this machine and newer ones, installed into an empty environment and tried
	rm -rf out/wheel
	$(FEATURES) VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin build --release $$extension --out out/wheel
	scripts/smoke.sh out/wheel/*.whl $(BIN)/python

# Without WHEEL it is the one of `make dist`; another is for a quick trial.
image: $(if $(WHEEL),.venv/.made,dist) ## an OCI image with a wheel and a small Debian, for podman and others; tried (docs/releasing.md)
	@mkdir -p $(DIST)
	wheel=$$(echo $(or $(WHEEL),$(DIST)/*_x86_64.whl)); \
		scripts/image.sh "$$wheel" "$(DIST)/$$(basename "$$wheel" | cut -d- -f1-2)-oci.tar"

# A commit that has passed all checks is not checked again.
release: .venv/.made ## all that a release needs, checked and made, and the commands that publish it; tags and uploads nothing
	$(BIN)/python scripts/release.py
	[ "$$(cat out/checked 2>/dev/null)" = "$$(git rev-parse HEAD)" ] || { .ci/run && git rev-parse HEAD >out/checked; }
	@$(MAKE) image
	$(BIN)/python scripts/release.py --files $(DIST)

clean: ## remove what was built, .venv and out included
	rm -rf .venv out target $(PICTURES) $$(find python -name __pycache__ -o -name '_core*.so')

system:
	@scripts/system.sh

# A virtual environment that still runs is kept, whoever made it; a broken one is replaced.
.venv/.made: | system
	@if ! $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		python=$$(scripts/system.sh python); \
		echo "making .venv with $$python"; \
		"$$python" -m venv --clear .venv; \
	fi
	@touch $@

.venv/.maturin: pyproject.toml scripts/dependencies.py .venv/.made
	$(BIN)/python scripts/dependencies.py build
	@touch $@

.venv/.installed: .venv/.maturin
	$(BIN)/python scripts/dependencies.py
	@touch $@

.venv/.docs: pyproject.toml .venv/.made
	$(BIN)/python scripts/dependencies.py docs
	@touch $@

# What can be built here, in a word; newer only if that has changed, a compiler installed for example.
.venv/.features: .venv/.made always | system
	@scripts/features.sh | cmp -s - $@ || scripts/features.sh | tee $@

always:

# `make setup` compiles while the other requirements are installed.
.venv/.compiled: $(RUST) .venv/.maturin .venv/.features
	$(FEATURES) VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --skip-install $$extension
	@touch $@

# Cargo has nothing left to do here; the package becomes one of .venv.
.venv/.built: .venv/.compiled .venv/.installed
	$(FEATURES) VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --quiet $$extension
	@touch $@
