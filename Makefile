# Every target works on a fresh clone with Python 3.11+ and make: the first one makes .venv.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

.PHONY: demo test check slow bench docs clean

## demo: train on the embedded corpus, score, and answer a German question; minutes on two cores
demo: $(INSTALLED)
	$(BIN)/translate train configs/demo.toml --resume
	$(BIN)/translate evaluate runs/demo
	$(BIN)/translate --model runs/demo "Kannst du mir helfen, diesen Satz zu übersetzen?"

# Python writes its byte code, even where the environment says that it should not: it takes each worker ten seconds.
test slow: export PYTHONDONTWRITEBYTECODE :=

# A worker for each core, as most tests keep one busy; at most four, as each holds models of its own.
## test: everything but the tests marked slow or gpu
test: $(INSTALLED)
	$(BIN)/python -m pytest -q -n logical --maxprocesses 4 --dist worksteal

## slow: the tests that take minutes
slow: $(INSTALLED)
	$(BIN)/python -m pytest -q -m slow

## check: format, lint, types, import contracts
check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict transformer
	$(BIN)/mypy translate scripts
	$(BIN)/lint-imports

## bench: training speed beside PyTorch's and Hugging Face's Transformer, as tables and JSON; ten minutes on two cores
BATCHES := $(if $(wildcard prepared/multi30k-de-en/manifest.json),--prepared prepared/multi30k-de-en)
bench: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python scripts/bench.py train $(BATCHES) --against torch hf hf-tuned
	$(BIN)/python scripts/bench.py train $(BATCHES) --against torch hf-tuned --preset paper-base --steps 6

## docs: the documentation as a site in build/site
docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# torch first and pinned: pip would otherwise resolve it again with every other package.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs]'
	touch $(INSTALLED)
