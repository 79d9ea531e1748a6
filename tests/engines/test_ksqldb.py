"""ksqlDB: what its documentation says, as the model has it."""

from __future__ import annotations

import pytest
from tests.engines.cases import on, told


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT S.id FROM S JOIN T WITHIN 1 HOUR ON S.K = T.K EMIT CHANGES", [("join", "SPAN", "constant")]),
        ("SELECT S.id FROM S JOIN T ON S.K = T.K EMIT CHANGES", [("join", "REFUSED", "refused")]),
        (
            "SELECT S.id, P.v FROM S LEFT JOIN P ON S.K = P.k EMIT CHANGES",
            [("as-of join", "KEYED_ROWS", "keys")],
        ),
        (
            "SELECT K, COUNT(*) FROM S WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY K EMIT CHANGES",
            [("GROUP BY", "WINDOWS", "constant")],
        ),
        ("SELECT K, COUNT(*) FROM S GROUP BY K EMIT CHANGES", [("GROUP BY", "ACCUMULATORS", "keys")]),
        ("SELECT K, COUNT_DISTINCT(B) FROM S GROUP BY K EMIT CHANGES", [("GROUP BY", "VALUES", "keys")]),
        ("SELECT K, COLLECT_LIST(B) FROM S GROUP BY K EMIT CHANGES", [("GROUP BY", "INPUT", "rows")]),
        # What cannot be written in it is not guessed.
        ("SELECT DISTINCT K FROM S", [("DISTINCT", "", "unknown")]),
    ],
)
def test_what_is_kept(sql: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(on("ksqldb", sql, "ksql")) == expected
