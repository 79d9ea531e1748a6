.POSIX:
.PHONY: demo cluster-demo cluster-test helm-check check test lint heavy live statements rewrites flink wild random properties fuzz api-fuzz crash airflow backfill bench bench-check docs playground playground-test up down status lock setup setup-tests wheel release sbom audit

PY = .venv/bin/python

demo:
	./demo

# The demo on PostgreSQL and a Spark cluster of two workers, then on SQLite and local Spark, and whether they agree.
# DAYS=7: only the first seven days of the year.
cluster-demo:
	@sh scripts/setup postgres
	@days='$(DAYS)'; exec $(PY) -m scripts.cluster_demo $${days:+--days $$days}

# The same as a test, over two days; about eight minutes.
cluster-test: setup-tests
	$(PY) -m pytest tests/e2e/test_cluster_demo.py -m heavy -rP

# The Helm chart with Airflow's own, which is fetched over the network where `helm dependency build` has not done so:
# our values against its schema, and all that is rendered against those of Kubernetes. `check` does it without.
helm-check: setup-tests
	$(PY) -m pytest tests/platform/test_helm.py -m "heavy or not heavy"

check:
	./check

setup:
	@sh scripts/setup

setup-tests:
	@sh scripts/setup tests

# ROOM=query: only the tests of one room; of one that has none of its own, the files that import it.
test: setup-tests
	@room='$(ROOM)'; [ -n "$$room" ] || exec $(PY) -m pytest; \
	  for at in "tests/$$room" "tests/test_$$room.py"; do [ ! -e "$$at" ] || tests="$$tests $$at"; done; \
	  [ -n "$$tests" ] || tests=$$(grep -rlE --include='test_*.py' \
	    "from streambound(\.$$room[. ]| import (.*[ ,])?$$room([ ,]|$$))" tests) || \
	    { echo "no tests of a room $$room: docs/architecture.md names the rooms"; exit 2; }; \
	  exec $(PY) -m pytest $$tests

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# The long tests, and thousands of random examples; `check` runs a sample of both.
heavy: setup
	$(PY) -m pytest --hypothesis-profile=heavy -m "heavy or hypothesis" tests/boundedness tests/certificate tests/constraints \
	  tests/evaluation tests/papers tests/query tests/plan tests/state tests/cli/test_hostile.py \
	  tests/spark/test_checking.py tests/history/test_faults.py tests/history/test_registered.py tests/tasks/test_windows.py

# Live queries on real Spark: more random queries and streams, late files, sources, folders of odd names, signals to
# all their processes; what Spark itself computes and refuses, and that histories on it leave the same; a quarter of an
# hour.
live: setup
	$(PY) -m pytest tests/spark/test_live_query.py tests/spark/test_live_sources.py tests/spark/test_names.py \
	  tests/spark/test_clock.py tests/spark/test_executors.py tests/spark/test_expressions.py tests/engines/test_spark.py \
	  tests/cli/test_live.py -m "heavy or not heavy"

# Random statements of the whole grammar that have a plan, as local histories, against the definition at every
# marker, and its final answers against DuckDB; and how many others had none. About half an hour; SPARK=200: so
# many on Spark as well, in one session.
COUNT = 5000
SPARK = 0
statements: setup
	$(PY) -m tests.statements --count $(COUNT) --spark $(SPARK)

# Rewrites of 300 random queries of each form against the definition and DuckDB, of 30 as streaming queries of Spark,
# and of 30 on Flink; about twenty minutes.
rewrites: setup flink
	$(PY) -m pytest tests/rewrites -m "heavy or not heavy" -rP

# Flink in an environment of its own, for tests and benchmarks that ask for it: some 700 MB.
FLINK = 2.3.0
flink: var/flink/$(FLINK)

var/flink/$(FLINK):
	python3.11 -m venv --clear var/flink
	var/flink/bin/pip install -q apache-flink==$(FLINK)
	touch $@

# Public streaming queries in their own dialects: how many get a verdict, and how many of those are right.
wild: setup
	@$(PY) -m tests.query.wild

# Every random test with 100 examples that are new each time, where `check` takes 15 that stay the same. A failure
# prints its example; SEED=5 makes a run that can be repeated.
random: setup-tests
	@seed='$(SEED)'; exec $(PY) -m pytest -n logical --maxprocesses 4 -m "hypothesis and not heavy" \
	  --hypothesis-profile=fresh $${seed:+--hypothesis-seed=$$seed}

# The theorems by name (docs/theory.md) on random queries and streams, at least 2,000 of each kind with these
# seeds: criteria = enumeration, plan = definition within its units, witnesses verify. `check` runs a sample.
SEEDS = 1 2 3 4 5
PROPERTIES = tests/boundedness tests/papers tests/evaluation tests/certificate
properties: setup
	@for seed in $(SEEDS); do echo "seed $$seed"; \
	  $(PY) -m pytest -q --hypothesis-profile=fresh --hypothesis-seed=$$seed -m theorem $(PROPERTIES) || exit 1; done

# Ten minutes of broken SQL, seed after seed (named: 1, 2, 3, ...); a failure prints its seed.
fuzz: setup
	end=$$(($$(date +%s) + 600)); seed=1; while [ $$(date +%s) -lt $$end ]; do echo "seed $$seed"; \
	  $(PY) -m pytest -q --hypothesis-profile=heavy --hypothesis-seed=$$seed tests/query/test_fuzz.py || exit 1; \
	  seed=$$((seed + 1)); done

# The pages' API: random requests of every operation, 300 of each.
api-fuzz: setup
	$(PY) -m pytest -q tests/dags/test_pages_api.py -m "heavy or not heavy" -k random

# kill -9 at a hundred moments, each followed by a retry; then nights of a real Airflow, two of them killed,
# and one of the caches' benchmark with everything, submitted: about 25 minutes.
crash: setup
	$(PY) -m pytest tests/crash tests/e2e/test_nights.py tests/dags/test_caches.py -m "heavy or not heavy" -rP

# Every DAG started from its form in a browser and run by the real scheduler, which is killed as well as the other
# parts of Airflow; about ten minutes.
airflow: setup-tests
	$(PY) -m pytest tests/e2e/test_pipeline.py tests/platform/test_airflow_local.py tests/platform/test_supervisor.py \
	  -m "heavy or not heavy"

# Backfills through the real scheduler: five to ten minutes.
backfill: setup
	$(PY) -m pytest tests/e2e/test_backfill.py -m "heavy or not heavy"

# All benchmarks, hours; QUICK=1: smaller sizes, below ten minutes.
bench: setup
	@quick='$(QUICK)'; exec $(PY) -m benchmarks $${quick:+--quick}

# The quick form against the committed ratios: fails if one is worse beyond its margin.
bench-check: setup
	@$(PY) -m benchmarks --check

# The documentation as a site, in var/docs. Airflow's pages show it too.
docs: setup
	@$(PY) -m scripts.docs

# The lint in the browser, in var/playground, with Pyodide from npm.
playground: setup
	@$(PY) -m scripts.playground

# The same in Chromium, typed into; about half a minute.
playground-test: setup-tests
	$(PY) -m pytest tests/docs/test_playground.py -m "heavy or not heavy"

up: setup docs
	@$(PY) -m scripts.airflow_local up

down: setup
	@$(PY) -m scripts.airflow_local down

status: setup
	@$(PY) -m scripts.airflow_local status

# dist/streambound-VERSION-py3-none-any.whl, the same bytes wherever it is built.
wheel: setup
	$(PY) -m hatchling build -t wheel

# What an installation of all extras consists of, with licences and digests, as CycloneDX.
sbom: setup
	@mkdir -p dist && $(PY) -m scripts.sbom all > dist/streambound.cdx.json && echo dist/streambound.cdx.json

# The locked packages against today's databases of advisories; `check` has a list of its own, without a network.
audit: setup
	.venv/bin/uv tool run pip-audit --require-hashes --disable-pip -r requirements-production.lock

# The version in every file that names it; commits nothing.
release: setup
	@$(PY) -m scripts.release $(VERSION)

# An exported lock instead of uv's own, which records where each file was downloaded. The second is the part of the
# first that production needs: an image holds no test tools.
COMPILE = .venv/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
  --extra cluster --no-emit-index-url --no-annotate --custom-compile-command "make lock"
lock: setup
	$(COMPILE) --extra dev -o requirements.lock
	$(COMPILE) -c requirements.lock -o requirements-production.lock
