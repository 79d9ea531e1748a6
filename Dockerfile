# The documentation as a site, which the pages show; what builds it stays behind.
FROM python:3.11.14-slim-bookworm AS documentation
WORKDIR /site
COPY requirements.lock ./
RUN sed -n '/^uv==/,/[^\]$/p' requirements.lock | python -m pip install --no-cache-dir -q -r /dev/stdin \
    && uv pip install -q --system --no-cache --constraint requirements.lock zensical pyyaml sqlglot
COPY pyproject.toml mkdocs.yml README.md ./
COPY include ./include
COPY scripts ./scripts
COPY plugins ./plugins
COPY benchmarks ./benchmarks
COPY docs ./docs
RUN PYTHONPATH=include python -m scripts.docs /site/built

# One image for every Airflow and Spark process, from the lock of the local .venv less what only tests need: the
# driver, the workers and the executors then agree on Python and on Spark.
FROM python:3.11.14-slim-bookworm

RUN apt-get update \
    && mkdir -p /usr/share/man/man1 \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 50000 streambound \
    && mkdir -p /data /spark-events /opt/streambound \
    && chown streambound:streambound /data /spark-events /opt/streambound

USER streambound
WORKDIR /opt/streambound
ENV VIRTUAL_ENV=/opt/streambound/.venv \
    PATH=/opt/streambound/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYSPARK_PYTHON=/opt/streambound/.venv/bin/python \
    SPARK_HOME=/opt/streambound/.venv/lib/python3.11/site-packages/pyspark \
    GX_ANALYTICS_ENABLED=false \
    STREAMBOUND_HOME=/data \
    STREAMBOUND_SITE=/opt/streambound/site \
    STREAMBOUND_REGISTRY=/opt/streambound/include/registry \
    AIRFLOW_HOME=/opt/streambound/airflow

# The packages before the sources, so that a change of a DAG does not install everything again.
COPY --chown=streambound requirements.lock requirements-production.lock ./
RUN python -m venv .venv \
    && sed -n '/^uv==/,/[^\]$/p' requirements.lock | .venv/bin/python -m pip install --no-cache-dir -q -r /dev/stdin \
    && .venv/bin/uv pip sync -q --no-cache --compile-bytecode requirements-production.lock

COPY --chown=streambound pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY --chown=streambound docs/codes ./docs/codes
COPY --chown=streambound include ./include
RUN .venv/bin/uv pip install -q --no-cache --no-deps --editable . && mkdir -p airflow
COPY --chown=streambound scripts ./scripts
COPY --chown=streambound spark_apps ./spark_apps
COPY --chown=streambound plugins ./plugins
COPY --chown=streambound dags ./dags
# The pages show them.
COPY --chown=streambound docs ./docs
COPY --chown=streambound mkdocs.yml ./
COPY --chown=streambound --from=documentation /site/built ./site

ENTRYPOINT ["tini", "--"]
CMD ["airflow", "version"]
