# Two commands do everything on a fresh machine: `make quickstart` and `make test`.

JOBS ?= $(shell nproc)
CROPE := build/release/crope

.PHONY: help setup build everything test test-parity test-python test-all test-asan test-asan-parsers test-tsan fuzz quickstart results bench gpu-check format check-format install package docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup:  ## install what is missing: system packages, LibTorch
	@scripts/setup.sh

build: setup  ## build build/release/crope
	@cmake --preset release $(CMAKE_FLAGS)
	@cmake --build --preset release -j $(JOBS) --target crope

everything: build
	@cmake --build --preset release -j $(JOBS)

test: everything  ## build and run the tests
	@ctest --preset release -LE slow

test-parity: everything  ## compare with transformers, lm_eval and torch.optim, in an environment of their own; then test-python
	@scripts/setup.sh parity
	@OMP_WAIT_POLICY=passive $(or $(CROPE_DEPS),.deps)/parity/bin/python -m pytest -q tests/parity
	@$(MAKE) --no-print-directory test-python

test-python: build  ## the tests of the Python package: goldens, transformers, lm_eval, two processes, style and types
	@scripts/setup.sh parity
	@cd python && OMP_WAIT_POLICY=passive $(abspath $(or $(CROPE_DEPS),.deps))/parity/bin/python -m pytest -q

test-all: everything test-parity  ## all tests, also the slow ones and those under sanitizers
	@ctest --preset release
	@$(MAKE) --no-print-directory test-asan test-tsan

test-asan: setup  ## the tests under the address and undefined-behaviour sanitizers
	@cmake --preset asan $(CMAKE_FLAGS)
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -LE slow
	@ctest --preset asan -R '^serve_hostile$$'

PARSERS := base formats text data run

test-asan-parsers: setup  ## the tests of what reads files below the Torch line, under the same sanitizers: minutes
	@cmake --preset asan $(CMAKE_FLAGS)
	@cmake --build --preset asan -j $(JOBS) --target $(PARSERS:%=%_test)
	@ctest --preset asan -R '^($(subst $(eval) ,|,$(PARSERS)))$$'

THREADED := base text data ops_cpu infer serve dist

test-tsan: setup  ## the tests of what runs in threads of its own, under the thread sanitizer
	@cmake --preset tsan $(CMAKE_FLAGS)
	@cmake --build --preset tsan -j $(JOBS) --target $(THREADED:%=%_test)
	@ctest --preset tsan -R '^($(subst $(eval) ,|,$(THREADED)))$$'

SECONDS ?= 60

fuzz: setup  ## coverage-guided fuzzing of every reader, SECONDS=60 each; TARGETS="gguf shard" only these
	@scripts/setup.sh fuzz
	@cmake --preset fuzz $(CMAKE_FLAGS)
	@cmake --build --preset fuzz -j $(JOBS) --target crope_fuzz
	@tests/fuzz/fuzz.sh build/fuzz/crope_fuzz "$(SECONDS)" $(TARGETS)

quickstart: build  ## a small world, three variants trained and scored on it, a report: minutes
	@$(CROPE) quickstart --out out/quickstart

results: build  ## regenerate the tables and figures of docs/results.md from docs/study
	@$(CROPE) report docs/study/main --figures-only --examples --out docs/figures
	@$(CROPE) report docs/study/world --figures-only --out build/world_figures
	@cp build/world_figures/downstream_*.svg docs/figures/
	@rm -f docs/figures/*.png docs/figures/throughput.svg
	@scripts/update_results.py

bench: everything  ## a training step beside PyTorch's, at paper size and a small one, and the operations
	@$(or $(CROPE_DEPS),.deps)/venv/bin/python bench/compare_pytorch.py
	@$(or $(CROPE_DEPS),.deps)/venv/bin/python bench/compare_pytorch.py --size small --parts tied,eager,compile,optimizer
	@build/release/bench/ops_bench --benchmark_repetitions=7 --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true

gpu-check: build  ## on a machine with an NVIDIA GPU: speed beside PyTorch, memory, losses beside the CPU; prints a report
	@$(or $(CROPE_DEPS),.deps)/venv/bin/python scripts/gpu_check.py

CLANG_FORMAT = $(or $(CROPE_DEPS),.deps)/venv/bin/clang-format

format: setup  ## format every source with the pinned clang-format
	@git ls-files '*.h' '*.cc' | xargs $(CLANG_FORMAT) -i

check-format: setup  ## fail if a source is not formatted
	@git ls-files '*.h' '*.cc' | xargs $(CLANG_FORMAT) --dry-run -Werror

install: build  ## install the program, its libraries, man page and completions (PREFIX=/usr/local)
	@cmake --install build/release $(if $(PREFIX),--prefix $(PREFIX))

PACKAGE = crope-$(shell awk '/^project/ {print $$3}' CMakeLists.txt)-$(shell uname -s -m | tr 'A-Z ' 'a-z-')

package: build  ## a tarball of the program and its libraries that runs from any folder
	@rm -rf build/package
	@cmake --install build/release --strip --prefix build/package/$(PACKAGE) >/dev/null
	@tar -C build/package -czf build/$(PACKAGE).tar.gz $(PACKAGE)
	@echo build/$(PACKAGE).tar.gz

docs: setup  ## the pages of docs/ as a site in build/site
	@scripts/setup.sh docs
	@NO_MKDOCS_2_WARNING=1 $(or $(CROPE_DEPS),.deps)/docs/bin/mkdocs build --quiet --clean
	@echo build/site/index.html

clean:  ## remove the build folders; .deps stays
	@rm -rf build
