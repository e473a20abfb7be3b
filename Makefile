# Everything happens in .venv, made on first use. Needed beforehand: Python 3.11 or newer, make, git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: help demo test test-browser test-versions test-shipped check-wheel fuzz check format docs site bench experiments wheels clean

help: ## Show this list.
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Toledo needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[development]'
	@touch $@

demo: $(READY) ## Run every part on the built-in sample: a table of scores, and demo/report.html.
	$(BIN)/toledo demo --output demo

test: $(READY) ## Run all tests.
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

test-browser: $(READY) ## Run the tests of pages in Chromium, on a wheel; needs Chromium.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	rm -rf build/lib build/browser
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/browser .
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/browser/site build/browser/*.whl
	TOLEDO_WHEEL=$(CURDIR)/build/browser/site PYTHONPATH=$(CURDIR)/build/browser/site $(BIN)/pytest tests/browser

test-versions: $(READY) ## Run some tests on each Python at hand, with the oldest and the newest dependencies; TESTS=--full runs all.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python packaging/test_versions.py $(TESTS)

check-wheel: $(READY) ## Run the README's commands on each Python at hand with the wheels in dist/, or one built for it.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python packaging/check_wheel.py $(if $(wildcard dist/toledo_mt_kernels-*.whl),--wheels dist)

test-shipped: $(READY) ## Run all tests on the kernels in dist/ (see wheels), and compare these with this machine's bit for bit.
	$(BIN)/python packaging/same_bits.py dist
	$(BIN)/python packaging/test_shipped.py dist --numprocesses auto --dist loadfile

fuzz: $(READY) ## Run the property tests on new random examples, ten times as many.
	TOLEDO_PROPERTY_TESTS=fuzz $(BIN)/python -m pytest --numprocesses auto --dist loadfile -m hypothesis

check: $(READY) ## Lint, types, import layers.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(READY) ## Write stored results into the pages, make the picture of the README, and run the notebooks.
	$(BIN)/python docs/make_picture.py
	$(BIN)/python docs/make_results.py
	$(BIN)/python docs/make_notebooks.py

site: $(READY) ## Build the documentation as a site: site/index.html.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(READY) ## Measure speed and memory; takes some minutes.
	for script in $(filter-out benchmarks/on_sample.py benchmarks/cold.py, $(wildcard benchmarks/*.py)); do $(BIN)/python $$script || exit 1; done

experiments: export DATA ?= ../shared/data
experiments: export MOSES ?= ../shared/peers/moses-de-en
experiments: $(READY) ## Run the experiments that are missing or were made by other code; takes many hours, and continues where it stopped.
	$(BIN)/python docs/run_experiments.py --work work

wheels: ## Build the package and its kernels for one Python into dist/; PYTHON=python3.12 chooses it.
	$(PYTHON) packaging/build_wheels.py --output dist

clean: ## Remove what the other targets made.
	rm -rf $(VENV) demo site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
