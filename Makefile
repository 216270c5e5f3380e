# Every target sets up what it needs; python3, make and the package registries are all it takes.
VENV := .venv
BENCH_VENV := .venv-bench
PYTHON := python3
ARGS :=

.PHONY: run test test-page test-kubernetes test-installation test-prometheus test-karpenter
.PHONY: test-versions chromium screenshots soak lint format monitoring chart bench release lock clean

# In seconds, on a cluster in one process; ARGS=--kubernetes on a real one, which is built first.
run: $(VENV)/ready-to-run
	@PYTHONPATH=src $(VENV)/bin/python -m demo $(ARGS)

# What needs no Kubernetes: minutes, with the installation. Without chromium, page tests are skipped.
test: $(VENV)/ready
	$(VENV)/bin/pytest -n auto \
		-m "not kubernetes and not installation and not prometheus and not karpenter" $(ARGS)

# The page in a browser, which is installed first, as root; it fails where that cannot be.
test-page: chromium $(VENV)/ready
	PAGE_TESTS=required $(VENV)/bin/pytest -n auto -m page $(ARGS)

# The pictures of the docs, made by the tests of the page.
screenshots: chromium $(VENV)/ready
	mkdir -p docs/images
	SCREENSHOTS=docs/images PAGE_TESTS=required $(VENV)/bin/pytest -n 2 tests/page/test_views.py

BROWSERS := chromium chromium-browser google-chrome
chromium:
	@[ -n "$$(which $(BROWSERS))" ] || { apt-get update --quiet \
	&& apt-get install --quiet --yes --no-install-recommends chromium fonts-dejavu-core; }

# The rest, on a Kubernetes that is built first, once.
test-kubernetes: $(VENV)/ready
	$(VENV)/bin/python -m devcluster build
	$(VENV)/bin/pytest -n 2 --dist loadfile -m kubernetes $(ARGS)

# Alerts and the dashboard, against a real Prometheus that is built first, in four minutes.
test-prometheus: $(VENV)/ready
	$(VENV)/bin/python -m devcluster build
	$(VENV)/bin/python -m devcluster build prometheus
	$(VENV)/bin/pytest -m prometheus $(ARGS)

# Karpenter replaces nodes under budgets; it is built first. The log has what was seen.
test-karpenter: $(VENV)/ready
	$(VENV)/bin/python -m devcluster build
	$(VENV)/bin/python -m devcluster build karpenter
	$(VENV)/bin/pytest --log-cli-level=INFO -m karpenter $(ARGS)

# The image and the chart, with buildah of Debian's packages and a helm that is built; as root.
IMAGE_TOOLS := buildah mmdebstrap
test-installation: $(VENV)/ready
	@which $(IMAGE_TOOLS) >/dev/null || { apt-get update --quiet \
	&& apt-get install --quiet --yes --no-install-recommends $(IMAGE_TOOLS); }
	$(VENV)/bin/python -m devcluster build
	$(VENV)/bin/python -m devcluster build helm
	$(VENV)/bin/pytest -n 2 --dist loadfile -m installation $(ARGS)

# What differs between versions of Kubernetes, on each of VERSIONS; ARGS=tests/cluster runs all.
# Building the servers of a version takes some minutes, once. docs/versions.md has the results.
VERSIONS := $(sort $(patsubst devcluster/modules/kubernetes-%,%,$(wildcard devcluster/modules/kubernetes-*))) 1.36
VERSION_TESTS := $(addprefix tests/cluster/,test_devcluster.py::test_the_session_cluster_has_everything \
	$(addprefix install/test_,crd.py registration.py manifests.py) \
	$(addprefix pub/test_,gate.py drain.py) \
	$(addprefix pdb/test_,groups.py door.py eviction_api.py workload_ref.py disruption_equal.py) \
	rbg/test_rollout.py drain/test_plain.py test_check.py test_audit.py test_examples.py)
test-versions: $(VENV)/ready
	@failed=0; for version in $(VERSIONS); do echo "== Kubernetes $$version"; \
	export DEVCLUSTER_VERSION=$$version; $(VENV)/bin/python -m devcluster build && \
	$(VENV)/bin/pytest -n 2 --dist loadfile -m kubernetes $(or $(ARGS),$(VERSION_TESTS)) \
	|| failed=1; done; exit $$failed

SEEDS := 20000
soak: $(VENV)/ready
	$(VENV)/bin/python -m tests.simulation --seeds $(SEEDS) $(ARGS)

lint: $(VENV)/ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy tests bench demo deploy
	$(VENV)/bin/lint-imports

format: $(VENV)/ready
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# The files for Prometheus and Grafana that are made from others.
monitoring: $(VENV)/ready
	$(VENV)/bin/python -m deploy.prometheus.rule_object > deploy/prometheus/prometheusrule.yaml
	$(VENV)/bin/python -m deploy.grafana.dashboard > deploy/grafana/intact.json

# The parts of the chart that are made from the code.
chart: $(VENV)/ready
	$(VENV)/bin/python -m deploy.chart_files

# ARGS names benchmarks, all if none; what else is in it is passed to them.
BENCHES := reflector pub_admission pub_scale pdb_evictions disruption budget_churn rehearse commands drain page
bench: $(BENCH_VENV)/ready
	$(BENCH_VENV)/bin/python -m devcluster build
	@failed=0; for bench in $(or $(filter $(BENCHES),$(ARGS)),$(BENCHES)); do echo "== $$bench"; \
	$(BENCH_VENV)/bin/python -m bench.$$bench $(filter-out $(BENCHES),$(ARGS)) || failed=1; \
	done; exit $$failed

# Into dist/: docs/release.md says what each artefact is. RELEASE_URL is where they will be published.
RELEASE_URL :=
release: $(VENV)/ready
	@$(VENV)/bin/python -m release $(if $(RELEASE_URL),--url "$(RELEASE_URL)")

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
		--group test --group lint --group build --group release -o requirements/dev.txt
	$(COMPILE) $(ARGS) -c requirements/dev.txt --group build -o requirements/build.txt
	$(COMPILE) $(ARGS) pyproject.toml -c requirements/run.txt \
		--group test --group build --group bench -o requirements/bench.txt

clean:
	rm -rf $(VENV) $(BENCH_VENV)
