"""What a policy may know: models by name, and from them how long a tuple can still join."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.approximate.models.distribution import uniform
from streambound.approximate.models.independent import Trend
from streambound.errors import DataError
from streambound.simulator.contract import Memory
from streambound.simulator.experiments.knowledge import knowing, value_windows
from streambound.simulator.problems import references, streams


@given(
    slope=st.sampled_from([1, 2, 0.5, 0.3, -1, -0.7]),
    intercept=st.sampled_from([0, -1, 2.5]),
    width=st.integers(0, 4),
    value=st.integers(-9, 9),
)
def test_value_windows_end_where_the_noise_reaches_last(
    slope: float, intercept: float, width: int, value: int
) -> None:
    model = Trend(slope, intercept, uniform(width))
    found = int(value_windows(streams([value], [0]), (Trend(1, 0, uniform(0)), model))[0, 0])
    assert found == -1 or model.at(found).of(value) > 0 or abs(slope) > 1
    assert all(model.at(step).of(value) == 0 for step in range(max(found + 1, 0), found + 50))


def test_life_takes_its_window_from_the_model() -> None:
    given_ = streams([3, 4, 5], [0, 1, 2])
    known = knowing(given_, Memory(1), "floor")
    # S's noise is up to 15: at step v + 15 its centre is 15 above v.
    assert known.expires is not None and known.expires[0].tolist() == [18, 19, 20]
    assert knowing(given_, Memory(1), "walk").expires is None


def test_unknown_models_are_refused() -> None:
    with pytest.raises(DataError, match="the model 'dome' is unknown"):
        knowing(references([1, 2]), Memory(1), "dome")
    with pytest.raises(DataError, match="there is no such file"):
        knowing(references([1, 2]), Memory(1), "dome.yml")
