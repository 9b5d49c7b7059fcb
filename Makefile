# `make demo` and `make test` need only Python 3.11 or newer and make. Both may be repeated.
PYTHON ?= python3
# The CPU build where an index offers one; any torch that pyproject.toml allows will do.
TORCH ?= torch==2.13.0
# Python compiles what is imported; to compile all that pip installs took 70 of its 170 seconds.
PIP_INSTALL := -m pip install --quiet --no-compile
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal

# What `pip install 'paraphrastic-hf[all]'` brings, and what the tests need beside it, is in `.[dev]`.
.PHONY: help install demo test test-slow docs check format wasm web test-datasets3 test-gpu test-sanitized test-damaged test-attack test-ray test-integrations
help:           ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/  /'

install: .venv/installed  ## the virtual environment .venv with everything in it

.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) "$(TORCH)"
	$(BIN)/python $(PIP_INSTALL) --editable ".[dev]"
	touch $@

demo: install   ## the packaged model: similarities and nearest neighbors; then train a small one
	@printf 'Similarity of sentence pairs (paraphrastic score english):\n'
	@$(BIN)/paraphrastic score english recipes/demo/questions.tsv
	@printf '\nNearest sentences (paraphrastic neighbors english):\n'
	@cut -f1 recipes/demo/pairs.tsv | $(BIN)/paraphrastic neighbors english - --query 'where is the station' 'a cat on a couch' --neighbors 3
	@printf '\nTraining a small model (paraphrastic train):\n'
	$(BIN)/paraphrastic train recipes/demo/demo.yaml --output runs/demo --overwrite --quiet

test: install   ## the quick tests, some on each core
	$(PYTEST) -m "not slow"

test-slow: install  ## the others: kills, smoke runs, README and guide blocks, the site
	$(PYTEST) -m slow

docs: install   ## the documentation as a site in build/docs; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

ZIG := ziglang==0.17.1
ENGINE := web/paraphrastic.c $(addprefix src/paraphrastic_hf/encoders/static/_,core.h map.h narrow.h rows.h unigram.h window.h)
WASM_FLAGS := -target wasm32-wasi -mexec-model=reactor -msimd128 -O3 -s -Wall -Wextra -Wno-unused-function

wasm: install  ## web/paraphrastic.wasm, the engine for browsers, and the checksums of its sources
	$(BIN)/python $(PIP_INSTALL) "$(ZIG)"
	$(BIN)/python -m ziglang cc $(WASM_FLAGS) -Isrc/paraphrastic_hf/encoders/static -o web/paraphrastic.wasm web/paraphrastic.c
	chmod 644 web/paraphrastic.wasm
	sha256sum web/paraphrastic.wasm $(ENGINE) > web/paraphrastic.sha256

web:            ## the page for browsers in build/web: one file, with its models beside it
	$(PYTHON) web/assemble.py build/web

test-datasets3:  ## the loading scripts, in an environment of their own with datasets 3.x
	$(PYTHON) -m venv .venv-datasets3
	.venv-datasets3/bin/python -m pip install --quiet "datasets>=3.6,<4" numpy pyyaml tqdm filelock tokenizers sacremoses rapidfuzz
	PYTHONPATH=src:. .venv-datasets3/bin/python -m tests.check_datasets3

test-gpu: install  ## on a machine with a GPU: every family trains there, and computes as on a CPU
	TEST_GPU=1 $(PYTEST) tests/test_cuda.py

test-sanitized: install  ## the C under address and undefined-behavior sanitizers: texts, threads, forks
	$(BIN)/python -m tests.robustness.sanitized

test-damaged: install  ## model directories and data files that are cut short or changed
	$(BIN)/python -m tests.robustness.damaged

test-attack: install  ## every command that writes: killed, on a full disk, two at once
	$(BIN)/python -m tests.robustness.attack

test-ray: install  ## corpora made by a Ray cluster of two nodes on this machine (`pip install ray`)
	$(BIN)/python -m tests.robustness.ray_cluster

test-integrations:  ## exports and classes for other libraries, with the real ones, in an environment of their own
	$(PYTHON) -m venv .venv-integrations
	.venv-integrations/bin/python $(PIP_INSTALL) "$(TORCH)" --editable ".[all,export,serve]" pytest hypothesis markdown-it-py \
		model2vec onnxruntime langchain-core llama-index-core haystack-ai chromadb lancedb txtai bertopic keybert polars duckdb spacy \
		"ray[data]" daft pyspark datatrove openai cohere httpx
	npm install --prefix .venv-integrations --ignore-scripts --silent @huggingface/transformers
	PATH="$(CURDIR)/.venv-integrations/bin:$$PATH" DAFT_RUNNER=native \
		python -m pytest tests/integrations tests/encoders/test_export.py tests/hub/test_copies.py

check: install  ## what CI runs: format, lint, types, tests (they build the site), and the built wheel on its own
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test
	$(MAKE) test-slow
	$(BIN)/python tests/check_wheel.py

format: install ## format and sort imports
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
