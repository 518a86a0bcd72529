# make lab opens the course; make test runs what CI runs. Both set up .venv first, and are quick the second time.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: lab setup test bench notebooks

lab: setup
	$(BIN)/python tools/lab.py

setup: $(VENV)/.installed
	$(BIN)/python -m llmlite fetch

test: $(VENV)/.tests-installed
	$(BIN)/python -m llmlite fetch
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --quiet --numprocesses 2 --dist loadscope

notebooks: $(VENV)/.tests-installed
	$(BIN)/python -m llmlite fetch
	$(BIN)/python tools/notebooks.py

bench: setup
	@echo "The benchmark comes with chapter 08; until then, llmlite generate prints the time of both phases."

$(VENV)/.python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'llmlite needs Python 3.11 or newer, this is ' + sys.version)"
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml constraints.txt
	$(INSTALL) --editable .
	touch $@

$(VENV)/.tests-installed: $(VENV)/.installed
	$(INSTALL) --editable '.[test]'
	touch $@
