"""What a run was asked for, by names that its DAG knows: Airflow takes any name, and means nothing by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from streambound.errors import DataError, alike

# Airflow's own: its lineage writes there which run started this one.
AIRFLOWS = frozenset({"openlineage"})
# From 0 to 1, as difflib counts it: above, a name may have been meant.
LIKENESS = 0.5


def asked(context: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a run, for its DAG's first task.

    Raises:
        DataError: one that the DAG does not know.
    """
    params, declared = context["params"], context["dag"].params
    refuse_unknown(params, declared)
    return {name: params[name] for name in params if name in declared}


def refuse_unknown(given: Collection[str], declared: Collection[str]) -> None:
    """Refuses names of parameters that there are not.

    Raises:
        DataError: naming the nearest that there is.
    """
    unknown = [name for name in given if name not in declared and name not in AIRFLOWS]
    if not unknown:
        return
    nearest = {name: alike(name, declared, LIKENESS) for name in unknown}
    fixes = [f"write {names[0]} instead of {name}" for name, names in nearest.items() if names]
    raise DataError(
        f"there is no parameter {' and no parameter '.join(unknown)}",
        accepted=", ".join(declared) or "none",
        fix="; ".join(fixes) or "leave it out",
    )
