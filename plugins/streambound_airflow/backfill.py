"""The days that a run of a backfill is about: of a range of logical dates, each run stands for one day."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from streambound import settings
from streambound_airflow.parameters import asked

# Airflow's word for a run that a backfill made, or made anew.
BACKFILL = "backfill"
log = logging.getLogger(__name__)


def form_of(context: Mapping[str, Any]) -> dict[str, Any]:
    """What the form says; of a backfill's run ``to`` is its logical day, unless the form says another.

    Raises:
        KeyError: a DAG without a day ``to``.
        DataError: a parameter that the DAG does not know.
    """
    params = asked(context)
    run = context.get("dag_run")
    if run is not None and run.run_type == BACKFILL and run.logical_date is not None and not params["to"]:
        params["to"] = run.logical_date.strftime("%Y-%m-%d")
        log.info("a backfill's run of %s: history up to that day", params["to"])
    return params


def never_back(form: Mapping[str, Any], asked: str | None, queries: Iterable[str]) -> dict[str, Any]:
    """The form, with ``to`` no earlier than what is published, if nobody asked for that day by name.

    A backfill over old days must not take back answers of newer ones.

    Args:
        form: as ``form_of`` gives it.
        asked: what the form itself says of ``to``.
    """
    fields = dict(form)
    last = max((day for name in queries if (day := _published(name))), default=None)
    if not asked and form["to"] and last is not None and last > form["to"]:
        log.info("answers up to %s are published: evaluated up to there", last)
        fields["to"] = last
    return fields


def _published(query: str) -> str | None:
    """The last day that a query's published answer rests on; None if there is none."""
    from streambound.storage.partitions import day_of

    try:
        text = (settings.answers_root() / query / "_answer.json").read_text(encoding="utf-8")
        return max((name for name in json.loads(text)["partitions"] if day_of(name)), default=None)
    except (OSError, ValueError, KeyError, TypeError):
        return None
