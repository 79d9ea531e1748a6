"""The state of a cache as canonical JSON: what its checkpoints hold.

``{"now": moment, "steps": n, "results": n, "peak": n, "centres": [x, y], "cached": [[stream, moment, [value,
...], born, used, uses], ...], "sample": {"level": n, "keys": [[key, results, [[stream, moment, [value, ...],
count], ...]], ...]}}``; values are as ``state.serial`` writes them, the centres exact in hexadecimal.

Law: ``load(plan, json.loads(dump(state)))`` goes on as ``state`` does.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from streambound.approximate.evaluation import MemoryPass, Tuple
from streambound.approximate.plan import MemoryPlan
from streambound.approximate.sample import KeySample, OfKey
from streambound.errors import DataError
from streambound.state.serial import canonical, plain, value_of


def dump(state: MemoryPass) -> bytes:
    """The canonical bytes of a state between two groups."""
    document = {
        "now": state.now,
        "steps": state.arrived,
        "results": state.results,
        "peak": state.peak,
        "centres": [float(centre).hex() for centre in state.centres],
        "cached": [[t.side, t.moment, _json_values(t.values), t.born, t.used, t.uses] for t in state.cached],
        "sample": {"level": state.sample.level, "keys": _sampled_keys(state.sample)},
    }
    return canonical(document)


def _json_values(values: tuple[Any, ...]) -> list[Any]:
    return [plain(value) for value in values]


def _sampled_keys(sample: KeySample) -> list[Any]:
    keys = []
    for key, of_key in sorted(sample.keys.items()):
        entries = [
            [side, moment, _json_values(stored), count]
            for side, counts in enumerate(of_key.entries)
            for (moment, stored), count in counts.items()
        ]
        keys.append([key, of_key.results, sorted(entries, key=json.dumps)])
    return keys


def load(plan: MemoryPlan, document: Any) -> MemoryPass:
    """The state in what canonical bytes hold as JSON.

    Raises:
        DataError: it is no state of this plan.
    """
    state = MemoryPass(plan)
    try:
        state.now, state.arrived = document["now"], document["steps"]
        state.results, state.peak = document["results"], document["peak"]
        state.centres = [float.fromhex(centre) for centre in document["centres"]]
        state.cached = [
            Tuple(side, moment, tuple(map(value_of, values)), born, used, uses)
            for side, moment, values, born, used, uses in document["cached"]
        ]
        keys = {}
        for key, results, entries in document["sample"]["keys"]:
            of_key = OfKey(results, (Counter(), Counter()))
            for side, moment, stored, count in entries:
                of_key.entries[side][moment, tuple(map(value_of, stored))] = count
            keys[key] = of_key
        state.sample.restore(document["sample"]["level"], keys)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"a stored cache of {plan.query.name} cannot be read: {error}") from None
    return state
