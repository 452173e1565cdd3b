# Everything a developer needs is one of these; `make help` lists them. Nothing is installed outside .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# One process per processor; the tests of a file stay together, as they share what they set up.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile

# Stamps: an environment is built once, and again only when what it is made from changes.
RUNTIME := .venv/runtime.stamp
TEST := .venv/test.stamp
CLUSTER := .venv/cluster.stamp
BENCH := .venv-bench/bench.stamp

# Where a wrong "pass" would be born: every line and branch is tested.
FULLY_COVERED := pipeline/checks/*,pipeline/text.py,pipeline/judge.py

.DEFAULT_GOAL := help
.PHONY: help setup run test check docs site notebooks bench bench-full lock clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(RUNTIME) ## build .venv: the pinned, hashed dependencies and this project

run: $(RUNTIME) ## evaluate the fixed suite: cases/ against fixtures/traces/
	$(BIN)/diagnosis-eval run

test: $(TEST) ## run the tests
	$(PYTEST)

# The last gate is silent where it holds, so that a good run ends with pytest's own summary.
check: $(TEST) ## everything that CI asks for: format, lint, types, layers, docs in step, tests, coverage
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.docs --check
	$(PYTEST) --cov --cov-report=term-missing:skip-covered
	@report=$$($(BIN)/coverage report --include='$(FULLY_COVERED)' --fail-under=100 2>&1) \
		|| { printf '%s\n' "$$report" 'These files are held to 100 %: $(FULLY_COVERED)'; exit 1; }

docs: $(TEST) ## write the generated pages of docs/ again
	$(BIN)/python -m tools.docs

site: $(TEST) ## build the docs as a site in build/site; broken links are errors
	$(BIN)/mkdocs build --strict --quiet

notebooks: $(TEST) ## export notebooks/*.py to the .ipynb beside them
	for name in notebooks/*.py; do $(BIN)/marimo --quiet export ipynb "$$name" --output "$${name%.py}.ipynb" --force; done

# Numbers of traces, such as 1k or 1k,10k. Without them the usual sizes are measured, and the run is recorded.
SIZES ?= $(BENCH_SIZES)

bench: $(BENCH) $(CLUSTER) ## measure against other tools, and write docs/eval/benchmarks.md; with SIZES=1k quicker, and nothing is written
	$(BIN)/python -m benchmarks $(if $(SIZES),--sizes $(SIZES),--record)

bench-full: $(BENCH) $(CLUSTER) ## the same with more traces, up to a million: more than half an hour
	$(BIN)/python -m benchmarks --sizes 1k,10k,100k --record

clean: ## remove what the other targets made, but not the results in data/
	rm -rf .venv .venv-bench build dist .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find pipeline tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): requirements/build.txt requirements/runtime.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'diagnosis-eval needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=/path/to/python3'; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
	$(PIP) install --require-hashes -r requirements/build.txt -r requirements/runtime.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(TEST): requirements/test.txt $(RUNTIME)
	$(PIP) install --require-hashes -r requirements/test.txt
	@touch $@

$(CLUSTER): requirements/cluster.txt $(RUNTIME)
	$(PIP) install --require-hashes -r requirements/cluster.txt
	@touch $@

# The tools that the benchmark measures against, in an environment that no other target sees.
$(BENCH): requirements/bench.txt
	@test -x $(@D)/bin/pip || $(PYTHON) -m venv --clear $(@D)
	@echo '*' > $(@D)/.gitignore
	$(@D)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes -r requirements/bench.txt
	@touch $@

# Pins are made from the public index alone: no pip configuration of the machine, and no address in the files.
COMPILE = PIP_CONFIG_FILE=/dev/null PIP_FIND_LINKS= PIP_CONSTRAINT= CUSTOM_COMPILE_COMMAND='make lock' \
	.venv/lock/bin/pip-compile --quiet --no-config --generate-hashes --allow-unsafe --strip-extras --newline=lf \
	--no-emit-options $(LOCK_OPTIONS)

lock: LOCK_OPTIONS ?= --upgrade
lock: ## pin requirements/*.txt again at the newest releases (LOCK_OPTIONS= keeps the pins that still fit)
	$(PYTHON) -m venv --clear .venv/lock
	.venv/lock/bin/python -m pip --quiet install pip-tools==7.6.2
	$(COMPILE) --output-file requirements/runtime.txt pyproject.toml
	$(COMPILE) --output-file requirements/test.txt requirements/test.in
	$(COMPILE) --output-file requirements/build.txt requirements/build.in
	$(COMPILE) --output-file requirements/cluster.txt --extra cluster --constraint requirements/test.txt pyproject.toml
	$(COMPILE) --output-file requirements/remote.txt --extra remote --constraint requirements/test.txt pyproject.toml
	$(COMPILE) --output-file requirements/bench.txt requirements/bench.in
	rm -rf .venv/lock
