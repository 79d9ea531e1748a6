"""Models from a file: each kind is read, and what is none is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from streambound.approximate.models.file import read_models
from streambound.approximate.models.independent import Deterministic, Stationary, Trend
from streambound.approximate.models.markov import Autoregression, RandomWalk
from streambound.errors import DataError

MODELS = """
- {kind: trend, slope: 1, intercept: -1, noise: {normal: 1.0, bound: 10}}
- {kind: walk, drift: 2, noise: {uniform: 3}, start: 5}
- {kind: ar1, phi0: 5.59, phi1: 0.72, deviation: 4.22}
- {kind: stationary, probabilities: {1: 0.5, 4: 0.5}}
- {kind: known, values: [1, 2, 3]}
"""


def test_models_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "models.yml"
    path.write_text(MODELS)
    found = read_models(path)
    assert [type(each) for each in found] == [Trend, RandomWalk, Autoregression, Stationary, Deterministic]
    assert found[0].noise.high == 10 and found[1].origin == 5
    assert found[3].distribution.probability.tolist() == [0.5, 0, 0, 0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "the file is no list"),
        ("- {kind: spline}", "model 1: the kind is 'spline'; accepted: trend, walk"),
        ("- {kind: ar1, phi0: 1}", "model 1: ar1: "),
        ("- {kind: ar1, phi0: 1, phi1: 2, deviation: 1}", "model 1: phi1 is 2.0"),
        ("- {kind: trend, slope: 1, noise: {cauchy: 1}}", "the noise is {'cauchy': 1}"),
        ("- {kind: stationary, probabilities: {1: -1}}", "the probabilities are negative"),
        ("[", "the file is no YAML"),
    ],
)
def test_models_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "models.yml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_models(path)
    assert message in caught.value.one_line()
