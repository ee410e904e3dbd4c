# Everything a clone needs: `make demo` and `make test` build their own .venv from the project's files.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
PIP := $(RUN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
THREADS := NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1
# Test files whose asserts pytest has rewritten are kept for the next run, and processes that tests start read ours.
export PYTHONDONTWRITEBYTECODE :=
# Each worker takes files from its own end: in the same file, both would compile the same kernels.
SHARED := -n 2 --dist worksteal
SOURCES := $(shell find src/podium -name '*.py')

.PHONY: help demo test browser lint check plain coverage quick nightly mutants bench clean

help:            ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/'

demo: $(VENV)/.run  ## the main job on made data, step by step: from a CSV file to an explained model
	@$(RUN)/python examples/demo.py

test: browser lint check plain coverage  ## lint, types, layers, all tests, and some of them without compilation

lint: $(VENV)/.dev  ## ruff, mypy, import-linter, the drawing of the rooms
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports
	$(RUN)/python docs/architecture.py --check

# Playwright drives the system's browser and downloads none. Without one its tests are skipped, and the run says so.
browser:         ## Chromium for the tests of pages, where it is missing and apt-get can install it
	@for name in chromium chromium-browser google-chrome google-chrome-stable $$PODIUM_BROWSER; do \
		command -v "$$name" >/dev/null && exit 0; \
	done; \
	test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium \
		|| echo "There is no Chromium and it cannot be installed here: the tests of pages will be skipped."

check: $(VENV)/.kernels  ## the tests
	$(THREADS) $(RUN)/python -m pytest $(SHARED) --cov --cov-report=

plain: $(VENV)/.dev  ## chosen tests with the kernels as plain Python: bounds errors, coverage of kernels
	NUMBA_DISABLE_JIT=1 $(RUN)/python -m pytest -m plain $(SHARED) --cov --cov-append --cov-report=

coverage: check plain  ## lines and branches that both runs together take: Python in the first, kernels in the second
	$(RUN)/python -m coverage report --skip-covered --fail-under=98

quick: $(VENV)/.dev  ## in half a minute: tests of what differs from the last commit, without compilation
	$(RUN)/python tests/quick.py

nightly: $(VENV)/.dev  ## the tests with ten times the random examples, drawn anew
	PODIUM_PROFILE=nightly $(THREADS) $(RUN)/python -m pytest $(SHARED) --timeout 3000

mutants: $(VENV)/.mutants $(VENV)/.kernels  ## small faults in the library, one at a time: do the tests notice?
	PYTHONPATH=tests $(RUN)/python -m mutants $(MUTANTS)

bench: $(VENV)/.dev  ## training, scoring, reading, measures, memory, cold start beside all peers; draws docs/benchmarks.md
	$(RUN)/python benchmarks/bench.py $(BENCH)

$(VENV)/.run: pyproject.toml constraints.txt
	@echo "== Installing: Podium and what it needs, into $(VENV), once"
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable . pyarrow
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) --editable '.[dev]'
	touch $@

# Ahead of the tests, each kernel is compiled once; workers that need the same one would both compile it.
$(VENV)/.kernels: $(VENV)/.dev $(SOURCES)
	$(THREADS) $(RUN)/podium compile --quiet
	touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(PIP) --editable '.[mutants]'
	touch $@

clean:           ## remove what these targets made
	rm -rf $(VENV) build src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage .mutants
	find . -name __pycache__ -prune -exec rm -rf {} +
