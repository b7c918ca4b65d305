# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
# The front door. `make help` lists what there is.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# Tests share the machine with the MPI programs that they start, and wait a lot: two at a time, unless told.
TEST_JOBS ?= 2
BOOTSTRAP ?= yes
# The processor of `make wheel` and `make test-wheel`.
ARCH ?= $(shell uname -m)
BENCH_OPTIONS ?=
SECONDS ?= 60
CTEST = ctest --output-on-failure -j $(TEST_JOBS)
# Many tests are the same for both MPIs. `make test` runs each of them with one MPI, and which one depends on the hash of
# the commit. MPIS=both: with both, as without git.
TURN := $(if $(filter both,$(MPIS)),,$(shell git rev-parse -q --verify HEAD 2>/dev/null | sed 's/.*[02468ace]$$/0/; s/.*[13579bdf]$$/1/'))
export TEST_TURN = $(TURN)
VENV_PYTHON = $(CURDIR)/.venv/bin/python3

.DEFAULT_GOAL := build
.PHONY: help bootstrap build shipped demo model-figures scale-study test test-long test-filesystems test-asan test-asan-short asan-short test-tsan test-mpis fuzz fuzzers bench bench-device format lint wheel test-wheel docs tarball package release test-release install clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bootstrap:  ## installs what is missing (BOOTSTRAP=no: never)
	@test "$(BOOTSTRAP)" = no || scripts/bootstrap

# One configured and built tree per preset; ninja configures again by itself when it has to. `make demo` configures
# without tests, from fewer packages.
define configure_preset
	@{ test -f $(1)/build.ninja && grep -qs '^MILLRACE_TESTS:BOOL=ON' $(1)/CMakeCache.txt; } || \
	  cmake --preset $(2) -DMILLRACE_TESTS=ON
endef
define build_preset
	$(call configure_preset,$(1),$(2))
	@cmake --build $(1) -j $(JOBS) $(3)
endef

build: bootstrap  ## everything; leaves build/bin/millrace
	$(call build_preset,build,release)

shipped: bootstrap  ## what `make install` installs: no tests
	$(call build_preset,build,release,--target shipped)

demo:  ## from a new machine to programs with and without Millrace, as root also on 4 virtual nodes (6 minutes)
	@BOOTSTRAP=$(BOOTSTRAP) JOBS=$(JOBS) scripts/demo

test: $(if $(ROOM),bootstrap,build)  ## all but the long tests (MPIS=both: with both); ROOM=agent: what a change there can break
ifdef ROOM
	$(call configure_preset,build,release)
	$(VENV_PYTHON) tests/room.py build $(ROOM) $(JOBS)
else
	@echo "tests that are the same for both MPIs: $(if $(TURN),turn $(TURN) (by the commit's hash; MPIS=both: both),both)"
	$(CTEST) --test-dir build -LE '^(long|filesystems$(if $(TURN),|turn-$(if $(filter 0,$(TURN)),1,0)))$$'
endif

test-long: build  ## many random cases, and both MPIs where `make test` takes one; .ci/weekly runs it
	TEST_TURN= $(CTEST) --test-dir build -L '^(long|turn.*)$$'
	TIDY_BATCH=1 $(MAKE) lint BOOTSTRAP=no

test-filesystems: build  ## NFS between guests of user-mode Linux, btrfs, XFS, overlayfs (root)
	$(CTEST) --test-dir build -L filesystems

test-asan: bootstrap  ## unit tests under address and undefined-behaviour sanitizers
	$(call build_preset,build-asan,asan)
	UBSAN_OPTIONS=halt_on_error=1 $(CTEST) --test-dir build-asan -L unit

ASAN_SHORT = base extent journal link pipeline agent_core recovery staging channel plain capi transport
asan-short: bootstrap
	$(call build_preset,build-asan,asan,--target $(ASAN_SHORT:%=%_test) channel_functions fake_cuda millrace-host)

test-asan-short: asan-short  ## those of them that handle what strangers and programs give, or memory by hand
	UBSAN_OPTIONS=halt_on_error=1 $(CTEST) --test-dir build-asan -R "^unit\.($$(echo $(ASAN_SHORT) | tr ' ' '|'))\$$"

test-tsan: bootstrap  ## unit tests under the thread sanitizer
	$(call build_preset,build-tsan,tsan)
	TSAN_OPTIONS=halt_on_error=1 $(CTEST) --test-dir build-tsan -L unit

test-mpis: wheel  ## the wheel with every MPI of PyPI and Debian (MPIS="mpich-5 impi": only these; 30 minutes)
	$(VENV_PYTHON) tests/mpis/run.py dist/*manylinux*_$(shell uname -m).whl $(MPIS)

fuzzers: bootstrap
	JOBS=$(JOBS) scripts/fuzz build

fuzz: bootstrap  ## a minute of libFuzzer on the parsers of links and journals (SECONDS=60)
	JOBS=$(JOBS) scripts/fuzz $(SECONDS)

bench: build  ## the bars of docs/results/, measured on this machine
	build/bin/millrace bench

bench-ring: build  ## files across nodes on virtual clusters (root); iperf3 and GlusterFS where installed
	$(VENV_PYTHON) bench/run_ring.py $(BENCH_OPTIONS)

bench-catwalk: build  ## figures 5 to 9 of the Catwalk-ROMIO paper, made smaller (root, 25 minutes)
	$(VENV_PYTHON) bench/run_catwalk.py $(BENCH_OPTIONS)

bench-device: build  ## file per process, transfers, between processes, as the SX-Aurora papers (25 minutes)
	$(VENV_PYTHON) bench/run_device.py $(BENCH_OPTIONS)

model-figures: build  ## the papers' figures and values by the model in virtual time (3 minutes)
	build/bin/millrace model --figures docs/images/model
	mv docs/images/model/model.md docs/results/model.md

scale-study: build  ## which topology on how many nodes: docs/results/scale.md (8 minutes)
	$(VENV_PYTHON) sim/study.py

format: bootstrap  ## formats C, C++ and Python
	scripts/lint format

lint: bootstrap  ## formatting, clang-tidy, ruff
	$(call configure_preset,build,release)
	JOBS=$(JOBS) scripts/lint check

wheel: bootstrap  ## a binary wheel in dist/ for any Linux with glibc 2.28 (ARCH=aarch64: for that processor)
	scripts/wheel $(ARCH)

test-wheel: wheel  ## that wheel in bootstrapped Debians and Ubuntus without compiler and MPI (root, debootstrap; ARCH=aarch64: qemu)
	$(VENV_PYTHON) tests/wheel/run.py dist/*manylinux*_$(ARCH).whl $(SUITES) || [ $$? = 77 ]

docs: bootstrap  ## the site of docs/ in build/site; a dead link fails
	scripts/docs

tarball: shipped  ## a prefix that works at any path, in dist/*.tar.gz
	scripts/packages tarball

package: shipped  ## the tarball and a Debian package in dist/, both tested in bootstrapped Debian systems (root)
	scripts/packages tools
	scripts/packages tarball
	JOBS=$(JOBS) scripts/packages deb
	@cmake --build build -j $(JOBS) --target victim_mpich
	$(VENV_PYTHON) tests/package/run.py dist

release: bootstrap  ## dist/VERSION: wheels, sources, tarball, Debian package, site of a clean tag (REHEARSAL=yes: HEAD; root)
	JOBS=$(JOBS) REHEARSAL=$(REHEARSAL) PARTS="$(PARTS)" scripts/release

test-release: bootstrap  ## a rehearsal, built twice: the same bytes
	JOBS=$(JOBS) REHEARSAL=yes PARTS="$(PARTS)" scripts/release twice

install: shipped  ## a relocatable prefix in PREFIX
	cmake --install build --prefix "$(abspath $(DESTDIR)$(PREFIX))"
	$(VENV_PYTHON) scripts/vendor.py "$(abspath $(DESTDIR)$(PREFIX))/share/millrace/python"

clean:  ## removes what was built (not .venv)
	rm -rf build build-dev build-asan build-tsan build-coverage build-fuzz
