"""The main job, once, in a real Airflow: ingest the flights, check the queries, evaluate a year.

While queries are checked, caches of the unbounded ones are benchmarked, so that the evaluation, which waits
for the same Spark slot, takes the policies that are chosen.

Starts Airflow on a free loopback port, or uses the one that ``make up`` left running, triggers the
DAGs one after the other through the REST API, and ends with a table of what came out.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from scripts.airflow_local import (
    AirflowFailed,
    Layout,
    LocalAirflow,
    client,
    free_port,
    layout_from_environment,
    running,
    stop_on_signals,
)
from scripts.airflow_rest import AirflowApiError, AirflowClient, TaskStates

if TYPE_CHECKING:
    from streambound.results import Results


@dataclass(frozen=True)
class Step:
    """A DAG of the demo and the longest that one run of it may take, in seconds."""

    dag_id: str
    purpose: str
    timeout: float
    # The step before it emits the asset that this DAG waits for: triggering it as well would run it twice.
    by_asset: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)


FIRST_DAY = date(2013, 1, 1)
BESIDE = Step(
    "benchmark_caches", "every cache policy is tried on the last four weeks of unbounded joins", 900
)
STEPS = (
    Step("ingest_flights", "a year of departures, arrivals and weather becomes partitioned streams", 900),
    Step("validate_queries", "each registered query is checked for bounded memory", 900),
    Step("evaluate_history", "the bounded queries are evaluated over the year on Spark", 1800, by_asset=True),
)
SETTLED = ("success", "failed", "skipped", "upstream_failed", "removed")


def steps_of(days: int | None) -> tuple[Step, ...]:
    """The steps over the first ``days`` days of the year, or over all of it."""
    if days is None:
        return STEPS
    last = FIRST_DAY + timedelta(days=days - 1)
    ingest = replace(STEPS[0], conf={"from": FIRST_DAY.isoformat(), "to": last.isoformat()})
    return ingest, *STEPS[1:]


class Clock:
    """Prints lines with the time since the start."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def say(self, line: str) -> None:
        seconds = int(time.monotonic() - self.start)
        print(f"[{seconds // 60:2d}:{seconds % 60:02d}] {line}", flush=True)


def run_step(api: AirflowClient, step: Step, say: Clock, since: str) -> bool:
    """Start one DAG and follow it; False if it failed, after printing why.

    Args:
        since: when the demo began; an asset's run from before is not this demo's.
    """
    say.say(f"{step.dag_id}: {step.purpose}")
    started = api.asset_run(step.dag_id, since) if step.by_asset else None
    return follow(api, step, started or api.trigger(step.dag_id, dict(step.conf)), say)


def follow(api: AirflowClient, step: Step, run_id: str, say: Clock) -> bool:
    """Tell what becomes of a run; False if it failed, after printing why."""
    before: TaskStates = {}

    def progress(states: TaskStates) -> None:
        changed = [
            f"{name} {state}"
            for name, state in states.items()
            if state in ("running", *SETTLED) and before.get(name) != state
        ]
        before.update(states)
        if changed:
            done = sum(state in SETTLED for state in states.values())
            say.say(f"  {done}/{len(states)} done: {', '.join(changed)}")

    state = api.wait_for_run(step.dag_id, run_id, step.timeout, progress)
    say.say(f"{step.dag_id}: {state}")
    if state == "success":
        return True
    print(api.failure_log(step.dag_id, run_id), file=sys.stderr)
    return False


def print_results(layout: Layout) -> None:
    """The table of the results database, and where everything lies."""
    from scripts.demo_tables import demo_table
    from streambound.quality.docs import site_folder
    from streambound.results import Results

    store = Results()
    print()
    print(demo_table(store))
    print()
    print_trade_offs(store)
    print("Where to look")
    print(f"  answers             {layout.home / 'answers'}")
    print(f"  trade-offs          {layout.home / 'caches'}")
    print(f"  results database    {layout.home / 'results.db'}")
    print(f"  data quality docs   {site_folder() / 'index.html'}")
    print(f"  Airflow's logs      {layout.airflow_home / 'logs'}")
    print("  Airflow itself      make up, or .venv/bin/python -m scripts.airflow_local up; prints the login")
    print("  check your own SQL  .venv/bin/streambound check FILE.sql --catalog STREAMS.yml")


def print_trade_offs(store: Results) -> None:
    """Of each query in k tuples: how large its exact answer is, what is kept, what policies would keep."""
    from scripts.demo_tables import kept, trade_off
    from streambound import settings
    from streambound.approximate.nightly.night import read

    units = {answer.query: answer.units for answer in store.latest_answers()}
    for answer in store.latest_cache_answers():
        print(kept(answer, units.get(answer.query), exact_size(answer.query)))
        night = read(settings.caches_root(), answer.query)
        if night is not None and night.possible:
            print(trade_off(night))
        print()


def exact_size(query: str) -> int:
    """How many rows a registered query over streams has, of their whole histories, as DuckDB counts them."""
    import duckdb

    from streambound import settings
    from streambound.projects.registry import load_registry
    from streambound.query.parse import statement
    from streambound.storage.partitions import find_partitions

    registry = load_registry(settings.registry())
    (registered,) = registry.chosen([query])
    parsed = statement(registered.sql, registry.catalog, query)
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        for relation in {o.relation.name: o.relation for o in parsed.arriving}.values():
            files = [str(file) for partition in find_partitions(relation) for file in partition.files]
            connection.read_parquet(files).create_view(relation.name)
        ((count,),) = connection.sql(registered.sql).aggregate("count(*)").fetchall()
    return int(count)


def run_all(api: AirflowClient, say: Clock, days: int | None = None) -> bool:
    """All steps in order, up to the first that fails; caches are benchmarked if there are days enough.

    Args:
        days: only the first days of the year.
    """
    from streambound.approximate.nightly.defaults import DAYS

    since = datetime.now(UTC).isoformat()
    first, *others = steps_of(days)
    benchmarked = days is None or days >= DAYS
    for step in (first, *others, BESIDE):
        api.wait_for_dag(step.dag_id)
    if not run_step(api, first, say, since):
        return False
    if not benchmarked:
        return all(run_step(api, step, say, since) for step in others)
    say.say(f"{BESIDE.dag_id}: {BESIDE.purpose}; meanwhile")
    beside = api.trigger(BESIDE.dag_id)
    return all(run_step(api, step, say, since) for step in others) and follow(api, BESIDE, beside, say)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo.

    Exit code 0 if all succeeded, 1 if a DAG failed, 2 for wrong options, 3 if Airflow does not run.
    """
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.split("\n\n")[0])
    parser.add_argument("--days", type=int, metavar="N", help="only the first N days of 2013 (default: all)")
    days = parser.parse_args(arguments).days
    if days is not None and not 1 <= days <= 365:
        parser.error(f"--days {days}: the year has days 1 to 365")
    say = Clock()
    layout = layout_from_environment()
    try:
        with stop_on_signals():
            already = running(layout)
            if already is not None:
                say.say(f"using the Airflow that runs at {already.url}")
                ok = run_all(client(already), say, days)
            else:
                layout = replace(layout, port=free_port())
                with LocalAirflow(layout, echo=say.say) as airflow:
                    ok = run_all(airflow.client(), say, days)
                    say.say("stopping Airflow")
    except (AirflowFailed, AirflowApiError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 3
    if not ok:
        print(f"demo: a DAG failed; its logs are in {layout.airflow_home / 'logs'}", file=sys.stderr)
        return 1
    print_results(layout)
    say.say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
