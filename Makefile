# Everything installs itself: a machine with Python >= 3.11, pip and make is enough.
PYTHON ?= python3
VENV   := .venv
ifneq ($(PYTHON),python3)
# `make test PYTHON=python3.13`: each other Python has a folder of its own, so that going back and forth installs nothing
# twice. One that pyenv has installed and not chosen is found as well.
override PYTHON := $(or $(shell for each in $(PYTHON) $${PYENV_ROOT:-$$HOME/.pyenv}/versions/*/bin/$(notdir $(PYTHON)); do \
	$$each -c '' 2>/dev/null && echo $$each && break; done),$(PYTHON))
VENV   := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
endif
BIN    := $(VENV)/bin
TESTS  ?= tests examples
# Many tests wait for servers and processes more than they compute: one more at a time than there are cores.
JOBS   ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
# Many containers set it. Every process that a test starts, and there are thousands, would then compile Landfast anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test coverage check requirements bench bench-retention mutants fuzz forgeries chaos stops soak powerloss docs screenshots format lock sbom audit clean

help:            ## what can be made
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/' | expand -t 22

demo: $(VENV)/runtime  ## the storm: 11,247 deliveries of one event, the worker killed on the way, one order
	@$(BIN)/landfast demo

test: $(VENV)/dev  ## every test, against real servers that it starts itself
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(TESTS)

CORE   := tests/domain tests/providers tests/intake tests/endpoints tests/processing tests/recovery tests/alerting tests/operations tests/sealing tests/cli
coverage: $(VENV)/dev  ## the tests of what keeps the promises, traced: no part below its floor
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report= $(CORE)
	@$(BIN)/python -m tests.coverage_floor

powerloss: $(VENV)/dev  ## crash images of both databases under load, recovered and checked; needs root and loop mounts
	@$(BIN)/python -m tests.powerloss $(if $(SEED),--seed $(SEED))

check: $(VENV)/dev  ## style, types, layers: fast, no servers
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m models
	@echo "check: all good"

requirements: $(VENV)/dev  ## the rows of tests/requirements.md with the tests that show them
	@$(BIN)/python -m tests.requirements

bench: $(VENV)/bench  ## how fast it is: ratios to an empty server, on this machine; QUICK=1 for a look, PEERS=1 beside others
	@$(BIN)/python -m $(if $(PEERS),bench.peers,bench) $(if $(QUICK),--quick)

bench-retention: $(VENV)/dev  ## weekly passes over 1,000,000 events on SQLite and 10,000,000 on PostgreSQL: half an hour, 20 GB; EVENTS=100000 for a look
	@$(BIN)/python -m bench.retention_sqlite $(if $(EVENTS),--events $(EVENTS))
	@$(BIN)/python -m bench.retention $(if $(EVENTS),--events $(EVENTS))

chaos: $(VENV)/dev  ## crashes at every call of every step, then at random ones, then the nemesis: everything goes wrong at once; half of CHAOS_SECONDS (600) each
	@LANDFAST_CRASH_CYCLES=400 $(BIN)/python -m pytest -q -n $(JOBS) tests/crash/test_matrix.py tests/examples/test_onboarding.py
	@$(BIN)/python -m tests.crash --seconds $$(expr $(or $(CHAOS_SECONDS),600) / 2)
	@$(BIN)/python -m tests.nemesis --seconds $$(expr $(or $(CHAOS_SECONDS),600) / 2)

stops: $(VENV)/dev  ## STOPS (200) stops under load, beside busy processes, plain and TLS; SEED repeats them
	@$(BIN)/python -m tests.processes.stops --stops $(or $(STOPS),200) $(if $(SEED),--seed $(SEED))

soak: $(VENV)/dev  ## a thousand random lives of an inbox against a model, the models at greater depth, and PATHS (1000000) requests by both paths of intake
	@LANDFAST_EXAMPLES=1000 $(BIN)/python -m pytest -n auto tests/properties && $(BIN)/python -m models --deep && $(BIN)/python -m docs.explanation.regions --deep
	@$(BIN)/python -m tests.intake.both_paths --cases $(or $(PATHS),1000000) $(if $(SEED),--seed $(SEED))

mutants: $(VENV)/dev  ## deliberate faults, and the tests that notice each
	@$(BIN)/python -m tests.mutants

forgeries: $(VENV)/dev  ## a million forged requests over all providers (FORGERIES): none accepted
	@$(BIN)/python -m tests.providers.forgeries --count $(or $(FORGERIES),1000000)

fuzz: $(VENV)/dev  ## random requests and bodies for FUZZ_SECONDS (60), or FUZZ_STREAMS hostile streams
	@$(BIN)/python -m tests.fuzz

docs: $(VENV)/dev  ## draw the pages of docs/reference from the code, and build the site: dist/site/index.html
	@$(BIN)/python -m docs.generate
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "docs: dist/site/index.html"

screenshots: $(VENV)/dev  ## pictures of every screen of the dashboard into docs/img; needs chromium and chromium-driver
	@$(BIN)/python docs/screenshots.py $(SCREENS)

format: $(VENV)/dev  ## write the code the way `check` wants it
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

lock: $(VENV)/dev  ## choose new versions of everything, with hashes and no addresses
	@$(BIN)/python requirements/lock.py

sbom: $(VENV)/runtime  ## what an installation contains, as CycloneDX: dist/landfast.cdx.json
	@$(BIN)/python requirements/sbom.py dist/landfast.cdx.json

audit: $(VENV)/runtime  ## was every version looked at, and is one known to be vulnerable? Needs no network, and uses one
	@$(BIN)/python requirements/audit.py

clean:           ## remove what was made
	rm -rf dist .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .coverage*

# Two stages, so that the demo does not wait for the test tools. A stage that is cut short is made again.
$(VENV)/runtime: requirements/runtime.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Landfast needs Python 3.11 or newer; set PYTHON=python3.11, or what yours is called") if sys.version_info < (3, 11) else None'
	@echo "installing Landfast into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt
	@$(BIN)/python requirements/link.py
	@touch $@

$(VENV)/dev: requirements/dev.txt $(VENV)/runtime
	@echo "installing the test tools ..."
	@# The lock names all that is needed: without a look at dependencies, which the pip of Python 3.11.2 cannot match to it.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/bench: requirements/bench.txt $(VENV)/dev
	@echo "installing the yardstick ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $@
