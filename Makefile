# Every target sets up what it needs; python3, make and the package registries are all it takes.
VENV := .venv
BENCH_VENV := .venv-bench
PYTHON := python3
ARGS :=

.PHONY: run test test-kubernetes soak lint format bench lock clean

# In seconds, on a cluster in one process; ARGS=--kubernetes on a real one, which is built first.
run: $(VENV)/ready-to-run
	@PYTHONPATH=src $(VENV)/bin/python -m demo $(ARGS)

# What needs no Kubernetes: minutes, with the installation.
test: $(VENV)/ready
	$(VENV)/bin/pytest -n auto -m "not kubernetes" $(ARGS)

# The rest, on a Kubernetes that is built first, once.
test-kubernetes: $(VENV)/ready
	$(VENV)/bin/python -m devcluster build
	$(VENV)/bin/pytest -n 2 --dist loadfile -m kubernetes $(ARGS)

SEEDS := 20000
soak: $(VENV)/ready
	$(VENV)/bin/python -m tests.simulation --seeds $(SEEDS) $(ARGS)

lint: $(VENV)/ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy tests bench demo
	$(VENV)/bin/lint-imports

format: $(VENV)/ready
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# ARGS names benchmarks, all if none; what else is in it is passed to them.
BENCHES := reflector pub_admission pub_scale pdb_evictions disruption budget_churn rehearse commands drain
bench: $(BENCH_VENV)/ready
	$(BENCH_VENV)/bin/python -m devcluster build
	@failed=0; for bench in $(or $(filter $(BENCHES),$(ARGS)),$(BENCHES)); do echo "== $$bench"; \
	$(BENCH_VENV)/bin/python -m bench.$$bench $(filter-out $(BENCHES),$(ARGS)) || failed=1; \
	done; exit $$failed

# All that `make run` needs: the rest would take as long again.
$(VENV)/ready-to-run: requirements/demo.txt
	@echo "installing into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip install --quiet --require-hashes -r requirements/demo.txt
	@touch $@

$(VENV)/ready: requirements/dev.txt
	@echo "installing into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --require-hashes -r requirements/dev.txt
	$(VENV)/bin/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@ $(VENV)/ready-to-run

$(BENCH_VENV)/ready: requirements/bench.txt
	@echo "installing into $(BENCH_VENV)"
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --require-hashes -r requirements/bench.txt
	$(BENCH_VENV)/bin/pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

# New versions, at least a week old, with hashes and without naming a registry.
UV := $(VENV)/bin/uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --exclude-newer "$$(date -u -d '7 days ago' +%F)"
lock: $(VENV)/ready
	$(VENV)/bin/pip install --quiet uv
	$(COMPILE) $(ARGS) pyproject.toml -o requirements/run.txt
	$(COMPILE) $(ARGS) pyproject.toml -c requirements/run.txt --group demo -o requirements/demo.txt
	$(COMPILE) $(ARGS) pyproject.toml -c requirements/demo.txt \
		--group test --group lint --group build -o requirements/dev.txt
	$(COMPILE) $(ARGS) pyproject.toml -c requirements/run.txt \
		--group test --group build --group bench -o requirements/bench.txt

clean:
	rm -rf $(VENV) $(BENCH_VENV)
