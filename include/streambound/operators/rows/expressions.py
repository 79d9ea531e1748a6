"""Formulas over rows in memory, computed by the embedded engine (see ``query.computing``)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlglot import exp

from streambound.errors import DataError
from streambound.query.column_types import Family, NotANumber, Type, Value, digits_of
from streambound.query.computing.translate import expression, typed
from streambound.query.computing.typed import DIGITS
from streambound.query.model import Relation

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Row: TypeAlias = Sequence[Value | None]
Compiled: TypeAlias = Callable[[Sequence[Row]], list[Value | None]]

DIALECT, GIVEN, POSITION = "duckdb", "given", "place"
_own = threading.local()
_made: list[Any] = []


def compiled(formula: str, columns: Sequence[tuple[str, Type]], result: Type) -> Compiled:
    """What computes a formula in Spark SQL: from encoded rows, in the order of ``columns``, encoded values.

    Raises:
        NotComputed: the formula has what is not computed.
        DataError: (of what it gives) a value has no place in its type.
    """
    named = {name: f"c{number}" for number, (name, _) in enumerate(columns)}
    given = {
        name: (typed(exp.column(named[name], table=GIVEN, quoted=True), kind), kind) for name, kind in columns
    }
    sql = (
        exp.select(exp.alias_(expression(formula, given, result), "v", quoted=True))
        .from_(exp.to_table(GIVEN, dialect=DIALECT))
        .order_by(exp.column(POSITION, table=GIVEN, quoted=True))
        .sql(dialect=DIALECT)
    )
    kinds = [kind for _, kind in columns]

    def compute(rows: Sequence[Row]) -> list[Value | None]:
        if not rows:
            return []
        import duckdb

        try:
            connection = _connection()
            connection.register(GIVEN, _table(rows, kinds))
            fetched = connection.execute(sql).fetchall()
            connection.unregister(GIVEN)
        except duckdb.Error as error:
            said = (str(error).splitlines() or [""])[0]
            raise DataError(f"{formula} cannot be computed: {said}") from None
        return [encoded(value, result) for (value,) in fetched]

    return compute


def complete(relation: Relation, rows: Sequence[dict[str, Any]]) -> None:
    """Give tuples (encoded) the values of the derived columns that they lack.

    Raises:
        DataError: a value has no place in its type.
    """
    for column in relation.computed:
        lacking = [row for row in rows if column.name not in row]
        if lacking:
            given = [relation.column(name) for name in relation.stored((column.name,))]
            compute = _compiled(
                str(column.formula), tuple((item.name, item.type) for item in given), column.type
            )
            values = compute([tuple(row[item.name] for item in given) for row in lacking])
            for row, value in zip(lacking, values, strict=True):
                if column.type.resolution == 1 and value is not None and not -(2**63) <= value < 2**63:
                    raise DataError(
                        f"{relation.name}.{column.name} is {value}, which is no {column.type.name}"
                    )
                row[column.name] = value


@lru_cache(maxsize=1024)
def _compiled(formula: str, columns: tuple[tuple[str, Type], ...], result: Type) -> Compiled:
    return compiled(formula, columns, result)


def encoded(value: Any, kind: Type) -> Value | None:
    """A value as the engine returns it in its ordered form."""
    if value is None or (kind.family is Family.NUMBER and isinstance(value, int)):
        return value
    return kind.encode(value)


def _table(rows: Sequence[Row], kinds: Sequence[Type]) -> pa.Table:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) if kinds else []
    arrays = {f"c{n}": _array(columns[n], kind) for n, kind in enumerate(kinds)}
    return pa.table({POSITION: pa.array(range(len(rows)), pa.int64()), **arrays})


def _array(values: Sequence[Value | None], kind: Type) -> pa.Array:
    import pyarrow as pa

    if kind.family is Family.NUMBER and kind.resolution is None:
        plain = [
            None if v is None else float("nan") if isinstance(v, NotANumber) else float(v) for v in values
        ]
        return pa.array(plain, pa.float64())
    if kind.family is Family.NUMBER:
        scale = 0 if kind.resolution == 1 else digits_of(kind.name)[1]
        exact = [None if v is None else _decimal(v, scale) for v in values]
        return pa.array(exact, pa.decimal128(DIGITS, scale))
    if kind.family is Family.BOOLEAN:
        return pa.array([None if v is None else bool(v) for v in values], pa.bool_())
    if kind.family is Family.DATE:
        return pa.array(values, pa.int32()).cast(pa.date32())
    if kind.family is Family.TIMESTAMP:
        return pa.array(values, pa.int64()).cast(pa.timestamp("us"))
    return pa.array(values, pa.string())


def _decimal(value: Value, scale: int) -> Decimal:
    units = int(value * 10**scale)
    if abs(units) >= 10**DIGITS:
        raise DataError(f"a number of more than {DIGITS} digits cannot be computed with")
    return Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -scale))


def _connection() -> duckdb.DuckDBPyConnection:
    """The connection of this thread."""
    import duckdb

    connection: duckdb.DuckDBPyConnection | None = getattr(_own, "connection", None)
    if connection is None:
        connection = duckdb.connect(config={"threads": 1})
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        _own.connection = connection
        _made.append(connection)
    return connection


def _close() -> None:
    """A forked process could neither use its parent's connections nor close them."""
    global _own
    while _made:
        _made.pop().close()
    _own = threading.local()


os.register_at_fork(before=_close)
