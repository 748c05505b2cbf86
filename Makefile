# Everything runs in .venv, which every target makes first if it is missing or older than what defines it.
EXTRAS := search,sources,learn,robot,measure,studies,cluster,report,dev
# Debian packages that the tests marked `system` need.
SYSTEM_PACKAGES := libegl1 libosmesa6 chromium
# Rooms whose tests compare computed numbers.
NUMERIC := memory training measure rollout
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup demo test test-numeric test-system lint types docs bench clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt Makefile
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

demo: $(READY)
	$(BIN)/python -m diacritic.demo

test: $(READY)
	$(BIN)/pytest -n 2 -m "not system"

# Once more on another code path of the processor (ATEN_CPU_CAPABILITY) or with another number of threads: products then
# round differently, and no result may depend on that.
test-numeric: $(READY)
	$(BIN)/pytest -q -n 2 -m "not system" $(NUMERIC:%=tests/diacritic/%)

test-system: $(READY)
ifneq ($(strip $(SYSTEM_PACKAGES)),)
	@if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -qy --no-install-recommends $(SYSTEM_PACKAGES); fi
endif
	@if grep -rq --include='test_*.py' 'mark\.system' tests; then $(BIN)/pytest -m system; else echo "no test needs a system package"; fi

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/pyright

docs: $(READY)
	$(BIN)/python -m docs_build

bench: $(READY)
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist site out
