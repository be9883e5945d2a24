# Every target makes its own virtual environment when there is none, so each is the only
# command you need. PYTHON=python3.12 make test  uses another interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The tested version, a CPU build where the package index has one; torch before the extra that accepts any.
TORCH ?= 2.13.0
# Processes of the test run: as many as there are cores. Tests of one file share a process, and what they prepared.
JOBS ?= logical
DRIVER := tests/browser/node_modules/playwright-core

.PHONY: demo test test-slow check bench browser docs soak fuzz dist clean
.DEFAULT_GOAL := test

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "dplitmus needs Python 3.11 or newer: PYTHON=/path/to/python3.11 make ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'torch==$(TORCH)'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plots,text,encoders,dev,docs]'
	@touch $@

# The paper's figures by real sampling, beside the exact values. Opens nothing: it prints the path.
demo: $(READY)
	$(BIN)/dplitmus sanity-check zoo:dptext --epsilon 1 --dimension 2 --samples 100000 --seed 1 || test $$? -eq 1
	$(BIN)/dplitmus reproduce acl2022 --out demo

test: $(READY) browser docs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadscope --cov --cov-report=term

# The documentation as pages, build/docs/index.html; a warning is an error.
docs: $(READY)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

# What the browser tests need beside a Chromium: playwright-core, which drives it and downloads none.
browser:
	@if command -v npm >/dev/null; then \
		test -d $(DRIVER) || npm install --silent --no-audit --no-fund --no-package-lock --prefix tests/browser \
			|| echo "browser tests will be skipped: npm could not install playwright-core"; \
	else echo "browser tests will be skipped: there is no npm (Debian: apt-get install npm chromium)"; fi
	@command -v chromium chromium-browser google-chrome >/dev/null || test -n "$$DPLITMUS_BROWSER" \
		|| echo "browser tests will be skipped: there is no chromium (Debian: apt-get install chromium)"

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@mkdir -p build; $(BIN)/pip-audit --skip-editable --progress-spinner off --timeout 5 > build/pip-audit.txt 2>&1 \
		|| { ! grep -q "known vulnerabilit" build/pip-audit.txt || { cat build/pip-audit.txt; exit 1; }; \
			echo "pip-audit was skipped: its advisories cannot be reached"; }

bench: $(READY)
	$(BIN)/python benchmarks/one_cell.py
	$(BIN)/python benchmarks/paper_grid.py
	$(BIN)/python benchmarks/start_up.py
	$(BIN)/python benchmarks/report_and_plugin.py
	$(BIN)/python benchmarks/executors.py

# Half an hour of audits with faults injected: what is lost, wrong, accused or leaked?
soak: $(READY)
	$(BIN)/python benchmarks/soak.py 30

# A million damaged and hostile inputs for all readers: a refusal with a code, or an answer.
fuzz: $(READY)
	$(BIN)/python benchmarks/fuzz.py

# The release files, built twice: the same commit gives the same bytes.
dist: $(READY)
	rm -rf dist build/again
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d build/again
	diff -r dist build/again

clean:
	rm -rf $(VENV) demo build dist tests/browser/node_modules docs/*/generated .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
