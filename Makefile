# Every target sets itself up in .venv with plain pip; nothing but Python 3.10 or newer is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ALONE := .venv-core
RAY := .venv-ray
TRUTH := .venv-truth
PACKAGES := core plugins/onnx plugins/onnxrt plugins/pluginref plugins/report plugins/formats plugins/locate plugins/checks plugins/data plugins/suite plugins/testing plugins/trt
PROJECTS := $(PACKAGES:%=%/pyproject.toml)
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo test test-core test-ray test-gpu check format bench truth clean

help:
	@echo "make demo      compare a model on two backends (ONNX Runtime and the ONNX reference)"
	@echo "make test      run all tests that need no GPU"
	@echo "make test-core run the tests of the core where only the core is installed"
	@echo "make test-ray  run the tests of the suite's executor for Ray, on a cluster of several nodes on this machine"
	@echo "make check     ruff and mypy"
	@echo "make truth     say what is right and wrong of models and faults whose answer is known"
	@echo "make bench     measure beside Polygraphy"
	@echo "make test-gpu  run the tests that need TensorRT and a GPU, in the current environment"

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "polycmp needs Python 3.10 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/created $(PROJECTS)
	$(PIP) -e core -e 'plugins/onnx[fp16]' -e 'plugins/onnxrt[cpu]' -e plugins/pluginref -e plugins/report -e 'plugins/formats[safetensors]' -e plugins/locate -e plugins/checks -e 'plugins/data[images]' -e plugins/testing -e plugins/suite
	@touch $@

$(VENV)/developed: $(VENV)/installed requirements-dev.txt
	$(PIP) -r requirements-dev.txt $(PACKAGES:%=-e %)
	@touch $@

demo: $(VENV)/installed
	@mkdir -p demo
	$(BIN)/python examples/make_demo_model.py demo/model.onnx
	$(BIN)/polycmp run demo/model.onnx -b onnxrt -b onnx --input-shapes image:[2,3,32,32] --report demo/report.json

test: $(VENV)/developed
	$(BIN)/python -m pytest -m "not gpu" $(PYTEST_ARGS)

$(ALONE)/developed: core/pyproject.toml requirements-dev.txt
	$(PYTHON) -m venv $(ALONE)
	$(ALONE)/bin/python -m pip --disable-pip-version-check install --quiet -e core $$(grep -E '^(build|editables|hatchling|hypothesis|pytest)' requirements-dev.txt)
	@touch $@

test-core: $(ALONE)/developed
	$(ALONE)/bin/python -m pytest $(PYTEST_ARGS) core/tests

$(RAY)/developed: core/pyproject.toml plugins/suite/pyproject.toml
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip --disable-pip-version-check install --quiet pytest pytest-timeout -e core -e plugins/onnx -e 'plugins/onnxrt[cpu]' -e plugins/report -e 'plugins/suite[ray]'
	@touch $@

test-ray: $(RAY)/developed
	$(RAY)/bin/python -m pytest $(PYTEST_ARGS) plugins/suite/tests/test_suite_ray.py

test-gpu:
	python -m pytest -m gpu $(PYTEST_ARGS)

check: $(VENV)/developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/developed
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

$(TRUTH)/installed: truth/requirements.txt truth/files.txt $(PROJECTS)
	$(PYTHON) -m venv $(TRUTH)
	$(TRUTH)/bin/python -m pip --disable-pip-version-check install --quiet -r truth/requirements.txt -e core -e plugins/onnx -e plugins/onnxrt -e plugins/report -e plugins/formats -e plugins/locate -e plugins/checks
	$(TRUTH)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r truth/files.txt
	@touch $@

truth: $(TRUTH)/installed
	$(TRUTH)/bin/python -m truth $(TRUTH_ARGS)

clean:
	rm -rf $(VENV) $(ALONE) $(RAY) $(TRUTH) demo dist .cache .mypy_cache .ruff_cache
