# Thin names over CMake presets and scripts. `make help` lists them.
# BUILD: where everything is made (BUILD=/elsewhere/build for a source tree that cannot be written).

JOBS ?= 2
FUZZ_SECONDS ?= 10
BUILD ?= build
PYTHONS ?= $(shell for python in python3.10 python3.11 python3.12; do if $$python -V >/dev/null 2>&1; then echo $$python; fi; done)
export JOBS FUZZ_SECONDS
export CARINA_BUILD := $(BUILD)

TEST_PYTHON := "$(BUILD)/test-env/main/bin/python"
CPP_FILES = $(shell git ls-files '*.h' '*.cpp')
START := $(shell date +%s)
AFTER = "$$(( $$(date +%s) - $(START) )) s"

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-sanitizers test-all check coverage setup setup-full test-env build build-dev fuzz bench zoo conformance arm-suite wheel wheel-test \
  wheel-aarch64 site format format-check tidy clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## set up, build, and run the main job on models/digits: 4 minutes on two cores
	@echo "demo: packages, build, compile and run models/digits. In a fresh clone: about 4 minutes on two cores, 0.6 GB in $(BUILD)."
	@echo "[1/3] packages"
	@scripts/setup.sh
	@echo "[2/3] build, after $(AFTER)"
	@mkdir -p "$(BUILD)"
	@cmake --preset release -B "$(BUILD)/release" >"$(BUILD)/release-configure.log" || { cat "$(BUILD)/release-configure.log"; exit 1; }
	@cmake --build "$(BUILD)/release" -j $(JOBS) --target carina
	@echo "[3/3] models/digits, after $(AFTER)"
	@scripts/demo.sh

test: ## build and run the tests: unit, command line, integration (FAST=1: a selection, 3 minutes)
	@command -v python3 >/dev/null || scripts/setup.sh
	@python3 scripts/test.py $(if $(FAST),fast,test)

test-sanitizers: ## unit tests and a sample of the rest under ASan and UBSan, threads under TSan, the runtime under Valgrind, FUZZ_SECONDS of each fuzz target
	@command -v python3 >/dev/null || scripts/setup.sh
	@python3 scripts/test.py sanitizers

test-all: ## both, with what takes long: whole samples, random graphs, the official conformance sample (hours)
	@command -v python3 >/dev/null || scripts/setup.sh
	@python3 scripts/test.py all

check: ## the quick gate: build and unit tests
	@python3 scripts/test.py check

coverage: ## line coverage by library: build/coverage/page/index.html and the table of docs/testing.md
	@python3 scripts/test.py coverage

setup: ## install the Debian packages for the build (skipped when they are there)
	@scripts/setup.sh

setup-full: ## also clang, its tools, a linker for the sanitizers
	@scripts/setup.sh --full

test-env: ## make the integration tests' virtual environment (torch, executorch, Vela, TOSA reference model)
	@CARINA_TEST_ENV="$${CARINA_TEST_ENV:-$(BUILD)/test-env}" tests/integration/setup.sh

build: ## the release build: build/release/bin/carina
	@cmake --preset release -B "$(BUILD)/release"
	@cmake --build "$(BUILD)/release" -j $(JOBS)

build-dev: ## the sanitizers' build (ASan, UBSan): test programs and fuzz targets
	@cmake --preset dev -B "$(BUILD)/dev"
	@cmake --build "$(BUILD)/dev" -j $(JOBS) --target unit_tests

fuzz: setup-full ## each fuzz target for FUZZ_SECONDS (make fuzz FUZZ_SECONDS=600)
	@scripts/fuzz.sh $(FUZZ_SECONDS)

bench: setup-full test-env build ## benchmarks, as ratios beside the peers run in the same minute; BENCH=large: models of up to 125 million parameters
	@cmake --build "$(BUILD)/release" -j $(JOBS) --target benchmarks
	@$(if $(filter large,$(BENCH)),tests/integration/setup.sh arm && $(TEST_PYTHON) bench/large.py,$(TEST_PYTHON) bench/run.py && $(TEST_PYTHON) bench/operators.py && $(TEST_PYTHON) bench/kernels.py)

zoo: test-env build ## trained models of many tasks: the task's metric in float and in integers, cycles and memory; writes docs/zoo.md (make zoo MODELS=onet,plates prints the rows of some)
	@nice $(TEST_PYTHON) bench/zoo.py $(if $(MODELS),--models $(MODELS),--page)

conformance: setup-full test-env build ## 5,000 random modules, 3,000 random graphs for every NPU, the Arm backend's own tests, ExecuTorch's generic backend suite, programs in both runtimes, the tutorials on mobilenet_v2, 300 of both on a Vulkan device, then all tests of the official TOSA conformance generator; goes on where it stopped (two hours); SCHEDULER=tcp://HOST:PORT: the random graphs on a Dask cluster
	@$(if $(SCHEDULER),$(TEST_PYTHON) tests/integration/conformance/on_cluster.py $(SCHEDULER) --graphs 3000,N=3000 nice $(TEST_PYTHON) -m pytest tests/integration/plan/test_plan.py -q -n $(JOBS))
	@PYTHONPATH=build/release/python nice $(TEST_PYTHON) -W ignore tests/integration/random_modules/run.py --count 5000 --ways 22 --jobs $(JOBS) --state build/test-env/random-modules.jsonl --failures build/test-env/random-modules
	@tests/integration/setup.sh arm
	@nice build/test-env/arm/bin/python tests/integration/arm/run.py --kind all --jobs $(JOBS) --json build/test-env/arm-outcomes.json
	@nice build/test-env/arm/bin/python tests/integration/arm/run.py --page build/test-env/arm-outcomes.json --choose build/test-env/arm-outcomes.json
	@nice $(TEST_PYTHON) tests/integration/arm/generic.py
	@OMP_NUM_THREADS=1 nice $(TEST_PYTHON) tests/integration/interop/run_matrix.py --page
	@TUTORIAL_NETWORK=mobilenet_v2 nice $(TEST_PYTHON) -m pytest tests/integration/arm/test_arm_names.py -q -k "programs_of_the_command_line or our_own_way_gives"
	@CARINA_VULKAN_GRAPHS=200 CARINA_VULKAN_CASES=100 nice $(TEST_PYTHON) -m pytest tests/integration/vgf/test_vgf_conformance.py -q
	@nice $(TEST_PYTHON) tests/integration/conformance/run_corpus.py --jobs $(JOBS)

arm-suite: test-env build ## the Arm backend's own pytest files on Carina: make arm-suite DIR=CHECKOUT [FILES="ops/test_add.py ..."]; writes build/pages/conformance-arm-api.md and its summary in docs
	@test -n "$(DIR)" || { echo "arm-suite: DIR=CHECKOUT, a checkout of ExecuTorch"; exit 2; }
	@nice $(TEST_PYTHON) tests/integration/arm/suite.py $(DIR) $(FILES) --page

wheel: build ## the Python package as a wheel, with the program in it: build/wheels
	@scripts/wheel.sh

wheel-test: wheel ## install the wheel in a new environment and run models/digits there
	@python3 scripts/wheel_test.py

wheel-aarch64: build ## wheels for 64-bit Arm, and this machine's, for each of PYTHONS ("python3.10 python3.11 python3.12", those that are here), by Debian's cross compiler; tested under qemu-user
	@scripts/setup.sh --aarch64
	@scripts/sysroot.sh arm64 build/aarch64/sysroot
	@scripts/sysroot.sh arm64 build/aarch64/trixie trixie base-files libstdc++6 python3.13-minimal libpython3.13-stdlib
	@scripts/wheel.sh --aarch64 $(PYTHONS)
	@python3 scripts/aarch64_test.py

docs: build ## long pages that programs write, and each library with its contract: build/pages
	@python3 scripts/generate_libraries.py
	@python3 scripts/generated_pages.py

site: test-env docs ## the documentation as a site, with an API reference, every link checked: build/site
	@python3 scripts/site.py

format: ## clang-format over our sources
	@clang-format-19 -i $(CPP_FILES)

format-check: ## is everything formatted?
	@clang-format-19 --dry-run --Werror $(CPP_FILES)

tidy: setup-full ## clang-tidy over every library
	@cmake --preset tidy
	@cmake --build --preset tidy -j $(JOBS)

clean: ## remove the builds; the reference implementations' environment stays (rm -r build removes all)
	@cd "$(BUILD)" && rm -rf dev release fuzz tidy tsan coverage mutants m55 demo results logs
