# Two commands do everything, on a machine with Python 3.11 or newer and nothing else prepared:
#
#   make verify    set up, then lay predicted beside observed recall over the default grid
#   make test      set up, then lint, type-check and test; then a smoke set on the lowest versions and the newest Python
#
# Both put what they need into .venv and are quick to run again. PYTHON=/path/to/python chooses the
# interpreter; ARGS="--grid full" passes options on to `recall-theory verify`, TESTS=... names tests.

VENV ?= .venv
JOBS ?= 2
ARGS ?=
TESTS ?=

BIN := $(VENV)/bin
# Stamps: newer than pyproject.toml means that its requirements are installed.
RUN_READY := $(VENV)/.ready-run
TEST_READY := $(VENV)/.ready-test

# An environment whose interpreter has gone (an upgraded or moved Python) is made anew.
ifeq ($(wildcard $(BIN)/python),)
.PHONY: $(VENV)/.made
endif

# Workers are processes; each gets one thread of the linear algebra library.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

# Tests start hundreds of processes: byte code is kept also where the environment says otherwise.
test: export PYTHONDONTWRITEBYTECODE :=

.PHONY: help verify test docs pictures clean

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

# Of the library's own theory a verdict of inconclusive (exit code 3) is an answer, not a failure; of a formula of
# one's own it is not a pass (make says Error 3). A disagreement (1) is a failure of either.
verify: $(RUN_READY)
	@$(BIN)/recall-theory verify $(ARGS) $(if $(findstring --predictor,$(ARGS)),,|| [ $$? -eq 3 ])

# The whole suite, then some of it as users install the package, unless TESTS names what is to run.
test: $(TEST_READY)
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(TESTS)
	@$(if $(TESTS),:,$(BIN)/python tests/smoke.py --jobs $(JOBS))

docs: $(TEST_READY)
	@$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Pictures in docs/pictures: those of committed studies, and the explore page, which needs a Chromium.
pictures: $(TEST_READY)
	@$(BIN)/python -m validation.ladder_picture
	@$(BIN)/python -m validation.geometric_picture
	@$(BIN)/recall-theory geometric report --seed 1 --training validation/geometric_training.jsonl \
	  --output docs/pictures/geometric-report.svg
	@$(BIN)/python docs/_tools/explore_pictures.py

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest docs/_build docs/reference .pytest_cache .mypy_cache .ruff_cache build *.egg-info

$(VENV)/.made:
	@set -e; \
	enough='import sys; sys.exit(sys.version_info < (3, 11))'; \
	found=''; \
	for candidate in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python); do \
	  if "$$candidate" -c "$$enough" >/dev/null 2>&1; then found="$$candidate"; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "recall-theory needs Python 3.11 or newer; $(or $(PYTHON),python3) is" \
	    "$$($(or $(PYTHON),python3) --version 2>&1 | head -n 1). Try: make PYTHON=/path/to/python3.11" >&2; \
	  exit 1; \
	fi; \
	if ! "$$found" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	  echo "$$found cannot make virtual environments: install its venv module" \
	    "(Debian and Ubuntu: apt install python3-venv)" >&2; \
	  exit 1; \
	fi; \
	rm -rf '$(VENV)'; \
	echo "setting up $(VENV) with $$("$$found" --version)" >&2; \
	"$$found" -m venv '$(VENV)'; \
	touch '$@'

# What is compiled to machine code is compiled here, once, and kept beside the sources.
WARM = $(BIN)/recall-theory simulate --V 32 --L 16 --d 16 --N 200 --embedding sphere --m 16 --seeds 2 --quiet

$(RUN_READY): pyproject.toml $(VENV)/.made
	@$(BIN)/python -m pip install --quiet --editable . >&2
	@$(WARM) >/dev/null
	@touch $@

$(TEST_READY): pyproject.toml $(VENV)/.made
	@$(BIN)/python -m pip install --quiet --editable '.[test]' >&2
	@$(WARM) >/dev/null
	@touch $@ $(RUN_READY)
