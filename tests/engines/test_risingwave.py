"""RisingWave: what its documentation says, as the model has it."""

from __future__ import annotations

import pytest
from tests.engines.cases import RANGE, on, told

WINDOW = "TUMBLE(S, ts, INTERVAL '1 hour')"
SLIDING = "HOP(S, ts, INTERVAL '1 hour', INTERVAL '2 hour')"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # Without a key of their own rows are kept one by one, however few values they have.
        ("SELECT S.A FROM S JOIN T ON S.A = T.D WHERE S.A > 10 AND S.A < 20", [("join", "ROWS", "rows")]),
        ("SELECT S.id FROM S JOIN T ON S.B < T.E", [("join", "REFUSED", "refused")]),
        (
            "SELECT S.id FROM S JOIN (SELECT MAX(E) AS e FROM T) t ON S.B < t.e",
            [("GROUP BY", "ACCUMULATORS", "constant"), ("join", "ROWS", "rows")],
        ),
        (f"SELECT S.id FROM S JOIN T ON S.K = T.K AND {RANGE}", [("join", "SPAN", "constant")]),
        ("SELECT S.id FROM S JOIN T ON S.K = T.K AND S.ts = T.ts", [("join", "WINDOWS", "constant")]),
        (
            "SELECT S.id FROM S WHERE EXISTS (SELECT 1 FROM T WHERE S.K = T.K AND S.ts = T.ts)",
            [("semi join", "WINDOWS", "constant")],
        ),
        (
            "SELECT id FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE S.K = T.K)",
            [("anti join", "ROWS", "rows")],
        ),
        ("SELECT S.id FROM S ASOF JOIN T ON S.K = T.K AND S.ts >= T.ts", [("as-of join", "ROWS", "rows")]),
        (
            "SELECT S.id FROM S JOIN R FOR SYSTEM_TIME AS OF PROCTIME() ON S.K = R.k",
            [("lookup join", "NOTHING", "constant")],
        ),
        # A filter by the present time takes rows back, those of a join as well.
        (
            "SELECT S.id FROM S JOIN T ON S.K = T.K WHERE S.ts > NOW() - INTERVAL '1 hour'"
            " AND T.ts > NOW() - INTERVAL '1 hour'",
            [("filter by the present time", "SPAN", "constant")] * 2 + [("join", "ROWS", "constant")],
        ),
        (
            "SELECT S.id FROM S JOIN T ON S.K = T.K WHERE S.ts > NOW() - INTERVAL '1 hour'",
            [("filter by the present time", "SPAN", "constant"), ("join", "ROWS", "rows")],
        ),
        # Rows wait until the condition begins.
        (
            "SELECT id FROM S WHERE ts < NOW() - INTERVAL '1 hour'",
            [("filter by the present time", "SPAN", "constant")],
        ),
        # NOT IN is planned as NOT EXISTS. Above a join that keeps its rows times come in no order.
        ("SELECT id FROM S WHERE K NOT IN (SELECT K FROM T)", [("anti join", "ROWS", "rows")]),
        (
            f"SELECT window_start, COUNT(*) FROM {WINDOW} w JOIN T ON w.K = T.K GROUP BY window_start",
            [("join", "ROWS", "rows"), ("GROUP BY", "ACCUMULATORS", "time")],
        ),
        (
            f"SELECT window_start, COUNT(*) FROM {WINDOW} GROUP BY window_start",
            [("GROUP BY", "WINDOWS", "constant")],
        ),
        # A table of groups is cleaned by its first column, which that of a sliding window is never beside
        # others; where windows close, it is always.
        (
            f"SELECT window_start, K, COUNT(*) FROM {WINDOW} GROUP BY window_start, K",
            [("GROUP BY", "WINDOWS", "constant")],
        ),
        (
            f"SELECT window_start, K, COUNT(*) FROM {WINDOW} GROUP BY K, window_start",
            [("GROUP BY", "ACCUMULATORS", "keys")],
        ),
        (
            f"SELECT window_start, K, COUNT(*) FROM {WINDOW} GROUP BY K, window_start EMIT ON WINDOW CLOSE",
            [("GROUP BY", "WINDOWS", "constant")],
        ),
        (
            f"SELECT window_start, K, COUNT(*) FROM {SLIDING} GROUP BY window_start, K",
            [("GROUP BY", "ACCUMULATORS", "keys")],
        ),
        (
            f"SELECT window_start, window_end, COUNT(*) FROM {SLIDING} GROUP BY window_start, window_end",
            [("GROUP BY", "WINDOWS", "constant")],
        ),
        # Columns stand in the order of their table, however GROUP BY has them.
        ("SELECT ts, COUNT(*) FROM S GROUP BY ts", [("GROUP BY", "WINDOWS", "constant")]),
        ("SELECT ts, K, COUNT(*) FROM S GROUP BY ts, K", [("GROUP BY", "ACCUMULATORS", "keys")]),
        ("SELECT ts, r, COUNT(*) FROM W GROUP BY r, ts", [("GROUP BY", "WINDOWS", "constant")]),
        # Without an aggregate nothing cleans it.
        (f"SELECT window_start FROM {WINDOW} GROUP BY window_start", [("GROUP BY", "DIFFERENT", "time")]),
        ("SELECT DISTINCT ts, K FROM S", [("DISTINCT", "DIFFERENT", "keys")]),
        (
            "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start ORDER BY B) AS n"
            f" FROM {WINDOW}) x WHERE n <= 3",
            [("first rows", "WINDOWS", "constant")],
        ),
        (
            "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K, window_start ORDER BY B) AS n"
            f" FROM {WINDOW}) x WHERE n <= 3",
            [("first rows", "KEYED_ROWS", "keys")],
        ),
        ("SELECT K, COUNT(*) FROM S GROUP BY K", [("GROUP BY", "ACCUMULATORS", "keys")]),
        ("SELECT COUNT(DISTINCT K) FROM S", [("GROUP BY", "VALUES", "keys")]),
        (
            "SELECT MAX(n) FROM (SELECT K, COUNT(*) AS n FROM S GROUP BY K) x",
            [("GROUP BY", "ACCUMULATORS", "keys"), ("GROUP BY", "INPUT", "keys")],
        ),
        ("SELECT DISTINCT K FROM S", [("DISTINCT", "DIFFERENT", "keys")]),
        (
            "SELECT id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY K ORDER BY ts DESC) AS n FROM S) x"
            " WHERE n = 1",
            [("first rows", "KEYED_ROWS", "keys")],
        ),
        (
            "SELECT id, SUM(B) OVER (PARTITION BY K ORDER BY ts RANGE BETWEEN INTERVAL '1 hour' PRECEDING AND"
            " CURRENT ROW) FROM S",
            [("OVER", "INPUT", "rows")],
        ),
    ],
)
def test_what_is_kept(sql: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(on("risingwave", sql, "risingwave")) == expected


def test_its_own_error_is_told() -> None:
    (found,) = on("risingwave", "SELECT S.id FROM S JOIN T ON S.B < T.E", "risingwave").operators
    assert found.what == "refused: Not supported: streaming nested-loop join"
