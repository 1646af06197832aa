PYTHON ?= python3
BIN := .venv/bin
TESTS = $(BIN)/pytest -m "not slow" --numprocesses 3 --dist loadfile --no-loadscope-reorder
threads = OMP_NUM_THREADS=$(1) OPENBLAS_NUM_THREADS=$(1) NUMBA_NUM_THREADS=$(1)
# Compiled once for all the processes that tests start, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
# numba's cache does not notice a change in another file's function; a folder per state of the files with kernels does.
export NUMBA_CACHE_DIR := $(CURDIR)/.venv/numba/$(shell grep -lr --include='*.py' numba operators | sort | xargs cat | cksum | cut -d ' ' -f 1)

.PHONY: survey test lint faults fuzz mutants processors calibration bench site lock clean

survey: .venv/ready ## the main job, offline, on a sample of the English Wikipedia
	$(BIN)/tiltmeter

# Three processes share the cores: threads of each would wait for the others' more than they compute.
test: .venv/ready ## what CI runs, after lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(TESTS)

processors: .venv/ready ## the tests with the instructions of other processors, on one and two threads
	ATEN_CPU_CAPABILITY=default NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Haswell $(call threads,1) $(TESTS)
	ATEN_CPU_CAPABILITY=avx2 NUMBA_CPU_NAME=haswell $(call threads,2) env -u OPENBLAS_CORETYPE $(TESTS)

calibration: .venv/ready ## p-values and intervals on data whose truth is known, an hour or more
	$(BIN)/python -m benchmarks.calibration

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

faults: .venv/ready ## faults, attacks, layouts, commands of the docs at full size, properties at random: an hour or more
	$(BIN)/pytest -m "slow or hypothesis" --hypothesis-profile random

fuzz: .venv/ready ## every reader on 10,000 mutated files, twenty minutes or more
	$(BIN)/python -m tests.fuzz.trying

mutants: .venv/ready ## mistakes planted one by one in a copy: which do the tests notice? (names="..." chooses)
	$(BIN)/python -m tests.mutants.plant $(names)

golden: .venv/ready ## records anew what all runs of the tests give, with the instructions of two kinds of processor
	rm -rf .golden && mkdir -p .golden/one .golden/other
	TILTMETER_GOLDEN=$(CURDIR)/.golden/one $(call threads,1) $(TESTS) tests/jobs
	TILTMETER_GOLDEN=$(CURDIR)/.golden/other ATEN_CPU_CAPABILITY=default NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Haswell $(call threads,1) $(TESTS) tests/jobs
	$(BIN)/python -m tests.golden.tables .golden/one .golden/other

bench: .venv/ready ## the whole path against word2vec, on the Simple English Wikipedia where it is at hand
	$(BIN)/python -m benchmarks.command

site: .venv/ready ## the docs as a site that opens offline, in site/; python -m benchmarks.gallery makes its gallery before
	$(BIN)/python -m mkdocs --version > /dev/null 2>&1 || $(BIN)/pip install --quiet --editable ".[site]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

lock: ## resolve pyproject.toml anew; needs uv
	uv pip compile --quiet --python-version 3.11 --extra dev --extra posterior --upgrade pyproject.toml --output-file requirements.lock

clean:
	rm -rf .venv
