# Every target does its own set-up: a virtual environment in the checkout, with pinned dependencies.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO ?= runs/demo
PYTHONS := 3.11 3.12 3.13

.PHONY: demo test test-thorough test-all $(PYTHONS:%=test-on-%) coverage lint bench reliability fuzz audit gallery readme tutorials docs dist clean

demo: $(VENV)/.core
	$(BIN)/lantm demo --out $(DEMO)

# Bytecode is kept, wherever the environment says otherwise: many processes import the same files.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile

test: lint $(VENV)/.test
	$(PYTEST) -m 'not thorough'

test-thorough: lint $(VENV)/.test
	$(PYTEST)

# All tests on every Python that is found, on the PATH or under pyenv, each in a virtual environment of its own.
test-all: $(PYTHONS:%=test-on-%)

$(PYTHONS:%=test-on-%): test-on-%:
	@for python in python$* $$(ls -d $(HOME)/.pyenv/versions/$*.*/bin/python 2>/dev/null); do \
	  if $$python -c '' 2>/dev/null; then \
	    echo "Python $*: $$python"; \
	    exec $(MAKE) --no-print-directory test-thorough VENV=.venv-$* PYTHON=$$python; \
	  fi; \
	done; \
	echo "Python $*: not found, skipped"

# The same tests, slower, and which lines they reach.
coverage: $(VENV)/.test
	$(PYTEST) -m 'not thorough' --cov=lantm --cov-report=term

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Kills, damaged files, full disks, malformed inputs, lost Ray nodes: counted into results/reliability.json.
reliability: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[ray]'
	$(BIN)/python -m benchmarks.reliability

# Files, arguments, texts and modules that are nearly right, for so many minutes: counted into results/fuzz.json.
MINUTES ?= 30
fuzz: $(VENV)/.test
	$(BIN)/python -m benchmarks.fuzz --minutes $(MINUTES)

# Known vulnerabilities of the pinned versions; says so where their database cannot be reached.
audit: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[audit]'
	$(BIN)/python tools/audit.py

# The paper's figures and those of docs/exact.md from the machines of the zoo; VIDEO=runs/copy adds a video of that training.
gallery: $(VENV)/.figures
	$(BIN)/python tools/gallery.py $(if $(VIDEO),--video $(VIDEO))
	$(BIN)/python tools/exact_figures.py --measure
	$(BIN)/python tools/size_figures.py
	$(BIN)/python tools/readme.py

readme: $(VENV)/.core
	$(BIN)/python tools/readme.py

# Runs the tutorials and stores what their cells print.
tutorials: $(VENV)/.core
	$(BIN)/python tools/tutorials.py

# The documentation, in site/: opens from disk. A broken link or an undocumented public name fails.
docs: $(VENV)/.docs
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/site_builder.py

# The wheel and the source archive, in dist/. A test (thorough) installs the wheel in an empty environment and uses it.
dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --outdir dist

clean:
	rm -rf $(VENV) $(PYTHONS:%=.venv-%) dist build site

# A stamp stands for what is installed; it is renewed when the pins change.
$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lantm needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint]'
	touch $@

$(VENV)/.figures: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[figures]'
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

$(VENV)/.bench: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@
