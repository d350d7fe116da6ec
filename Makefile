# demo and test do all of their own set-up: a virtual environment in .venv, nothing elsewhere
# but the small model's weights in the user's cache directory.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
DEMO_READY := .venv/demo-ready
# Tests run in two processes more than there are cores, as many of them wait for a server or a browser; each
# starts servers of its own, so no more than four.
AT_ONCE := -n $(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + 2))') --dist loadgroup

# Tests start thousands of processes, which must not compile the same files again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow house check bench docs lock clean

demo: $(DEMO_READY)
	$(BIN)/oversight demo

test: $(READY)
	$(BIN)/pytest $(AT_ONCE) -m "not slow"

# What takes longer than a newcomer waits.
test-slow: $(READY)
	$(BIN)/pytest $(AT_ONCE) -m slow

house: $(READY)
	$(BIN)/python -m tests.house
	$(BIN)/pytest -q -s tests/house/test_walks.py tests/e2e/test_walk.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.house.prose

bench: $(READY)
	for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(BIN)/python $$file --quick || exit 1; done
	$(BIN)/python -m benchmarks.papers all --quick

# The site of the documents; a link that leads nowhere is an error. Their commands and snippets are run by the tests.
docs: $(READY)
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "open docs/_build/html/index.html in a browser"

# The demo needs little more than half of what the tests need; `make test` adds the rest to the same environment.
$(DEMO_READY): pyproject.toml requirements-demo.txt
	$(call install,requirements-demo.txt)
	touch $@

$(READY): pyproject.toml requirements.txt
	$(call install,requirements.txt)
	touch $@ $(DEMO_READY)

define install
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
$(PYTHON) -m venv .venv
$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r $(1)
$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e .
endef

COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --quiet

lock: $(READY)
	$(COMPILE) --extra dev -o requirements.txt
	$(COMPILE) --extra demo -c requirements.txt -o requirements-demo.txt

clean:
	rm -rf .venv demo docs/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
