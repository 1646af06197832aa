PYTHON ?= python3
BIN := .venv/bin
# uv as it is on the machine; brought by pip where it is not.
UV := $(or $(shell command -v uv 2>/dev/null),$(BIN)/uv)
# Versions and hashes are those of the lock, also of what a package is built with.
LOCKED = --constraint requirements.lock --build-constraint requirements.lock
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
# Where pip is told to find wheels, which uv does not ask.
wheels = $(or $(subst $(comma), ,$(UV_FIND_LINKS)),$(PIP_FIND_LINKS),$(shell $(BIN)/pip config get global.find-links 2>/dev/null))
abi = $(shell $(BIN)/python -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
# Whose build of torch: "local" has a wheel among those, "pypi" is CUDA's on Linux, and any other is one of PyTorch's own: cpu, auto, cu130.
TORCH ?= $(if $(wildcard $(wheels:%=%/torch-*-$(abi)-*.whl)),local,cpu)
comma := ,
TESTS = $(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder -m
threads = OMP_NUM_THREADS=$(1) OPENBLAS_NUM_THREADS=$(1) NUMBA_NUM_THREADS=$(1)
# Compiled once for all the processes that tests start, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE
# numba's cache does not notice a change in another file's function; a folder per state of the files with kernels does.
export NUMBA_CACHE_DIR := $(CURDIR)/.venv/numba/$(shell grep -lr --include='*.py' numba operators | sort | xargs cat | cksum | cut -d ' ' -f 1)

.PHONY: survey test check lint faults fuzz mutants processors calibration golden wheel bench site lock clean

survey: .venv/core ## the main job, offline, on a sample of the English Wikipedia
	$(BIN)/tiltmeter

# Three processes share the cores: threads of each would wait for the others' more than they compute.
test: .venv/ready ## all tests that take no seconds, and one run of each job: some minutes
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(TESTS) "once or not (slow or long)"

check: .venv/ready ## all tests but those of make faults, after make lint: what CI runs, half an hour
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(TESTS) "not slow"

processors: .venv/ready ## the tests with the instructions of other processors, on one and two threads
	ATEN_CPU_CAPABILITY=default NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Haswell $(call threads,1) $(TESTS) "not slow"
	ATEN_CPU_CAPABILITY=avx2 NUMBA_CPU_NAME=haswell $(call threads,2) env -u OPENBLAS_CORETYPE $(TESTS) "not slow"

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
	TILTMETER_GOLDEN=$(CURDIR)/.golden/one $(call threads,1) $(TESTS) "not slow" tests/jobs
	TILTMETER_GOLDEN=$(CURDIR)/.golden/other ATEN_CPU_CAPABILITY=default NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Haswell $(call threads,1) $(TESTS) "not slow" tests/jobs
	$(BIN)/python -m tests.golden.tables .golden/one .golden/other

wheel: .venv/core ## the wheel of the last commit, in an environment with the core alone, runs the main job from another folder
	rm -rf .venv/wheel && mkdir -p .venv/wheel/source
	git archive HEAD | tar -x -C .venv/wheel/source
	$(UV) build --quiet --wheel --build-constraint requirements.lock --out-dir .venv/wheel .venv/wheel/source
	$(BIN)/python -m venv --without-pip .venv/wheel/environment
	$(UV) pip install --quiet --python .venv/wheel/environment/bin/python $(LOCKED) .venv/wheel/*.whl
	cd .venv/wheel && environment/bin/tiltmeter embedding.num_replicas=2 embedding.trainer.epochs=2 run_dir=run
	test -s .venv/wheel/run/report.html

bench: .venv/ready ## the whole path against word2vec, on the Simple English Wikipedia where it is at hand
	$(BIN)/python -m benchmarks.command

site: .venv/ready ## the docs as a site that opens offline, in site/; python -m benchmarks.gallery makes its gallery before
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

$(BIN)/python:
	$(PYTHON) -m venv .venv

$(BIN)/uv: | $(BIN)/python
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock | $(BIN)/pip install --quiet --requirement /dev/stdin

.venv/core: requirements.lock pyproject.toml | $(BIN)/python $(UV)
	$(INSTALL) $(LOCKED) --editable .
	touch $@

# A build of torch that is there stays, and asks for CUDA's packages only if it is CUDA's: so that one is chosen first.
.venv/ready: requirements.lock pyproject.toml | $(BIN)/python $(UV)
	$(if $(filter pypi,$(TORCH)),,$(INSTALL) --no-deps \
		$(if $(filter local,$(TORCH)),--no-index $(wheels:%=--find-links %),--torch-backend $(TORCH)) \
		$(shell grep -o '^torch==[^ ]*' requirements.lock))
	$(INSTALL) $(LOCKED) --editable '.[dev]'
	touch .venv/core $@

lock: ## resolve pyproject.toml anew, for each Python and platform; needs uv
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --all-extras --no-emit-package tiltmeter --no-annotate --no-header --upgrade pyproject.toml --output-file requirements.lock

clean:
	rm -rf .venv
