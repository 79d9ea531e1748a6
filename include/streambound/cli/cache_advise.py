"""``streambound cache advise``: how much memory keeps a share of an unbounded query's results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound import settings
from streambound.cli.options import command
from streambound.errors import DataError, QueryError

if TYPE_CHECKING:
    from streambound.approximate.nightly.night import Night
    from streambound.query.catalog import Catalog
    from streambound.query.registry import RegisteredQuery

ENDINGS = (".png", ".svg")


def add_advise(subcommands: Any) -> None:
    """Add the subcommand."""
    text = "tell how much memory keeps a share of an unbounded query's results"
    parser = command(subcommands, "advise", _advise, text)
    parser.add_argument("query", metavar="QUERY", help="a registered query or a .sql file")
    parser.add_argument("--target", type=float, required=True, metavar="SHARE", help="for instance 0.95")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="draw what each policy keeps (.png or .svg)"
    )


def _advise(options: argparse.Namespace) -> int:
    from streambound.approximate.nightly.advice import advice
    from streambound.cli.queries import registered_or_file

    query, catalog = registered_or_file(options.query, options.catalog)
    if options.picture is not None and options.picture.suffix not in ENDINGS:
        raise QueryError(f"--picture is {options.picture}", accepted=f"a file in {' or '.join(ENDINGS)}")
    night = _night(query, catalog)
    advised = advice(night, options.target)
    if options.picture is not None:
        from streambound.report.trade_off import draw

        draw(night, options.picture)
    if options.format == "json":
        print(json.dumps(advised.to_json(), ensure_ascii=False))
    else:
        from streambound.report.advice import advice_text

        print(advice_text(advised))
    return 0 if advised.reached else 1


def _night(query: RegisteredQuery, catalog: Catalog) -> Night:
    """The last benchmark of the query as it stands now."""
    from streambound.approximate.nightly.night import read
    from streambound.checkpoint.fingerprint import fingerprint
    from streambound.checkpoint.inspection import CHANGED_PLAN
    from streambound.history.inspection.recent_past import plan_for
    from streambound.history.prepare import beside

    plan = plan_for(query.name, query.sql, catalog, 1, *beside(query))
    night = read(settings.caches_root(), query.name)
    fix = f"run the DAG benchmark_caches, or python spark_apps/benchmark_caches.py --queries {query.name}"
    if night is None:
        raise DataError("its caches have not been benchmarked yet", subject=query.name, fix=fix)
    if night.fingerprint != fingerprint(plan.query, plan.streams, {}):
        raise DataError(
            f"{CHANGED_PLAN} since its caches were benchmarked",
            subject=query.name,
            fix=fix,
        )
    return night
