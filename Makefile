# Every target sets itself up in .venv on a machine that has only Python (3.10 or newer) and make.
PYTHON ?= python3
BIN := .venv/bin
# Python keeps what it compiles: else each worker and child process of the tests would compile torch's sources again (6 s).
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

.PHONY: help demo test test-processors test-vllm test-vllm-files test-llama-cpp test-sglang test-lm-eval lowest newest proof fuzz check types docs kernels wheel wheel-test format bench gpu train clean

help:
	@echo "make demo    install, then run constrained generations on the embedded model"
	@echo "make test    install, then the whole test suite (eleven minutes on two cores, and five once for the kernels)"
	@echo "make test-processors  what compares floats, as two other processors would add them"
	@echo "make test-vllm  vLLM in an environment of its own (3.4 GB): the real engine, both model runners"
	@echo "make test-vllm-files   the files of vLLM's newest wheel (340 MB) that call what we put in their place"
	@echo "make test-llama-cpp  llama-cpp-python, built once (ten minutes)"
	@echo "make test-sglang     the files of SGLang's wheel (39 MB) that call a grammar backend"
	@echo "make test-lm-eval    lm-evaluation-harness, its tasks and its judge"
	@echo "make lowest  install the lowest declared versions beside, then the core tests with them"
	@echo "make newest  install what a user gets today beside, then the tests of decoding, integrations and commands with it"
	@echo "make proof   the same laws with their full counts; results go to benchmarks/results/proof.md"
	@echo "make fuzz    a minute of mutated grammars and token sequences (SECONDS=60); findings go to FINDINGS"
	@echo "make check   ruff, mypy, import contracts"
	@echo "make types   the types that a user's checker sees, by mypy and pyright"
	@echo "make wheel   kernels compiled ahead of time (ten minutes), sdist and wheel in dist/"
	@echo "make wheel-test   the wheel in fresh environments of each Python here"
	@echo "make docs    the documentation as a site, in build/site"
	@echo "make bench   the benchmarks; figures go to benchmarks/results/, tables into docs/figures/"
	@echo "make gpu     kernel tests and benchmarks on an NVIDIA GPU"
	@echo "make train   train an embedded model again, MODEL=causal, draft, heads, features or diffusion (90 minutes at most)"

.venv/python:
	$(PYTHON) -m venv .venv
	@touch $@

.venv/package: .venv/python pyproject.toml constraints.txt
	$(INSTALL) --editable ".[torch,numba]"
	@touch $@

.venv/everything: .venv/package
	$(INSTALL) --editable ".[torch,numba,serve,dev,gpu,bench]"
	@touch $@

.venv/site: .venv/package
	$(INSTALL) --editable ".[torch,numba,docs]"
	@touch $@

demo: .venv/package
	$(BIN)/python -m grammarlm demo

# Workers are processes; tests/conftest.py compiles the kernels before they start.
WORKERS ?= 2
test: .venv/everything
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal $(ARGS)

# The laws of float sums, with other instructions of torch, MKL (matrix products of torch) and OpenBLAS (of numpy).
FLOATS := tests/decoding tests/published tests/models tests/device tests/retrieval tests/kernels
test-processors: .venv/everything
	ATEN_CPU_CAPABILITY=default MKL_ENABLE_INSTRUCTIONS=SSE4_2 OPENBLAS_CORETYPE=Haswell \
		$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal $(FLOATS) $(ARGS)
	ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=COMPATIBLE OPENBLAS_CORETYPE=Nehalem \
		$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal $(FLOATS) $(ARGS)

proof: .venv/everything
	$(BIN)/python -m tests.proof --numprocesses $(WORKERS) --dist worksteal $(ARGS)

.venv-lowest/everything: constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement constraints-lowest.txt
	@touch $@

# What needs no torch, with the lowest versions that pyproject.toml declares.
CORE := tests/test_regex_corpus.py tests/vocab/test_plain_vocabulary.py tests/grammars/ebnf/test_notations.py \
	tests/masks/test_completion.py tests/masks/machines/json/test_json_matcher.py \
	tests/masks/machines/json/test_json_masks.py tests/masks/machines/stack/test_stack_matcher.py
lowest: .venv-lowest/everything
	GRAMMARLM_KERNELS=numba PYTHONPATH=. .venv-lowest/bin/python -m pytest -p no:cacheprovider $(CORE) $(ARGS)

# A day old, it is made anew. torch is that of constraints.txt: a newer one brings gigabytes of CUDA.
.venv-newest/everything: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --upgrade --upgrade-strategy eager \
		$(shell grep ^torch== constraints.txt) --editable ".[torch,numba,serve,dev,bench]"
	@touch $@

newest: STALE := $(shell find .venv-newest/everything -mmin +1440 -delete 2>/dev/null)
newest: .venv-newest/everything
	.venv-newest/bin/python -m tests.newest $(ARGS)

SECONDS ?= 60
FINDINGS ?= /tmp/grammarlm-fuzz
fuzz: .venv/everything
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --findings $(FINDINGS) $(ARGS)

check: .venv/everything
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

types: .venv/everything
	$(INSTALL) basedpyright
	$(BIN)/python -m tests.types.check

# Where there is one already; a stale one is refused by name, and `make kernels` makes it anew.
LIBRARY := grammarlm/kernels/shipped.abi3.so
$(LIBRARY):
	$(MAKE) kernels

# vLLM pins its own versions of torch, numba and lark. The engine there is a rebuild for CPUs by its community.
.venv-vllm/everything: constraints-vllm.txt
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check --requirement constraints-vllm.txt
	.venv-vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

test-vllm: $(LIBRARY) .venv-vllm/everything
	GRAMMARLM_KERNELS=shipped PYTHONPATH=. .venv-vllm/bin/python -m pytest -p no:cacheprovider tests/integrations/vllm tests/vocab/test_tekken.py $(ARGS)

# The newest vLLM needs a GPU to be installed: the files of its wheel (340 MB) are read.
VLLM_FILES := build/vllm-newest
test-vllm-files: .venv/everything
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(VLLM_FILES) vllm
	GRAMMARLM_VLLM_FILES=$(VLLM_FILES) $(BIN)/python -m pytest -p no:cacheprovider tests/integrations/vllm_files $(ARGS)

# Distributed as sources only: the build takes ten minutes, and a C++ compiler.
LLAMA_CPP := build/llama-cpp-python-0.3.36
$(LLAMA_CPP)/everything: .venv/everything
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(LLAMA_CPP) \
		llama-cpp-python==0.3.36 gguf==0.19.0 diskcache==5.6.3
	@touch $@

test-llama-cpp: $(LLAMA_CPP)/everything
	PYTHONPATH=$(LLAMA_CPP) $(BIN)/python -m pytest -p no:cacheprovider tests/integrations/llama_cpp $(ARGS)

# SGLang itself needs a GPU to be installed.
SGLANG := build/sglang-0.5.23
$(SGLANG)/everything: .venv/everything
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest $(SGLANG) sglang==0.5.23
	@touch $@

test-sglang: $(SGLANG)/everything
	GRAMMARLM_SGLANG=$(SGLANG) $(BIN)/python -m pytest -p no:cacheprovider tests/integrations/sglang $(ARGS)

# With dependencies of its own, apart from the project's environment.
LM_EVAL := build/lm-eval-0.4.13
$(LM_EVAL)/everything: .venv/everything
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(LM_EVAL) lm-eval==0.4.13 accelerate==1.15.0 peft==0.21.2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(LM_EVAL) --constraint constraints.txt \
		datasets evaluate pytablewriter sqlitedict dill word2number more_itertools rouge-score sacrebleu scikit-learn psutil
	@touch $@

test-lm-eval: $(LM_EVAL)/everything
	PYTHONPATH=$(LM_EVAL) $(BIN)/python -m pytest -p no:cacheprovider tests/integrations/lm_eval $(ARGS)

kernels: .venv/package
	$(BIN)/python -m grammarlm.kernels.build

wheel: kernels
	$(INSTALL) build twine auditwheel
	rm -rf dist build/lib build/bdist*
	$(BIN)/python -m build --quiet --sdist --outdir dist .
	$(BIN)/python -m build --quiet --wheel --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m auditwheel show dist/*manylinux*.whl

wheel-test:
	$(PYTHON) -m tests.wheel.check dist/*.whl $(ARGS)

docs: .venv/site
	$(BIN)/python -m mkdocs build --strict --site-dir build/site

format: .venv/everything
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/everything
	$(BIN)/python -m benchmarks.all $(ARGS)

gpu: .venv/everything
	$(BIN)/python -m pytest tests/kernels tests/device $(ARGS)
	$(BIN)/python -m benchmarks.gpu_kernels
	$(BIN)/python -m benchmarks.gpu_generate

MODEL ?= causal
train: .venv/everything
	$(BIN)/python -m training.train $(MODEL)

clean:
	rm -rf .venv .venv-lowest .venv-newest .venv-vllm build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
