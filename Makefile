# make demo   sets everything up in .venv (pip only, no root) and runs the ring
# make test   sets everything up and passes the tests: lint, ctest, pytest
# make clean  removes what the two made, except runs/
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt \
  $(shell find csrc -type f -not -name '*.md') \
  $(shell find tests/csrc -type f 2>/dev/null)
CXX_FILES := $(shell find csrc tests -name '*.h' -o -name '*.cc')
# What pyproject.toml's build-system section asks for, installed beforehand so
# that rebuilding after an edit is incremental (no build isolation).
BUILD_TOOLS := "scikit-build-core>=1.1" "pybind11>=3.1" \
  "nlohmann-json>=3.12" "cmeel-boost>=1.90" "cmake>=3.26" ninja

# The module and the C++ tests share a build tree, so that what both need is
# compiled once; ctest turns it from a wheel's into a stand-alone one.
INSTALL := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/pip install -q \
  --disable-pip-version-check --no-build-isolation -C build-dir=build/cpp -e

.PHONY: demo test lint ctest pytest install install-test clean

demo: install
	$(BIN)/python -m jaxkern.bin.train --config=configs/leap.py:demo \
	  --workdir=runs/demo

test: lint ctest pytest

lint: install-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)

ctest: install-test
	$(BIN)/cmake -DSKBUILD=OFF -DJAXKERN_TESTS=ON build/cpp
	$(BIN)/cmake --build build/cpp
	$(BIN)/ctest --test-dir build/cpp --output-on-failure -j2

pytest: install-test
	$(BIN)/python -m pytest -n 2 --dist loadfile

install: $(VENV)/installed
install-test: $(VENV)/installed-test

$(VENV)/tools:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "jaxkern needs Python 3.11 or newer, got " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check $(BUILD_TOOLS)
	touch $@

$(VENV)/installed: $(VENV)/tools $(SOURCES)
	$(INSTALL) .
	touch $@

$(VENV)/installed-test: $(VENV)/tools $(SOURCES)
	$(INSTALL) '.[test]'
	touch $(VENV)/installed $@

clean:
	rm -rf $(VENV) build
