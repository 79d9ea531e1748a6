"""Rows of the results database as records: of a run, of a query, or the newest of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import URL, Column, ColumnElement, Engine, Subquery, Table, and_, delete, func, select

from streambound import settings
from streambound.results.address import parse_url
from streambound.results.connection import connect, prepare, transaction
from streambound.results.records import Record
from streambound.results.writing import upsert


class Rows:
    """The database at a SQLAlchemy address; connects, and creates its tables, at first use."""

    def __init__(self, url: str | None = None) -> None:
        self._url = parse_url(url or settings.database_url())
        self._engine: Engine | None = None

    @property
    def url(self) -> URL:
        """The address; what of it others may see: ``streambound.results.address.shown``."""
        return self._url

    def _ready(self) -> Engine:
        if self._engine is None:
            engine = connect(self._url)
            prepare(engine)
            self._engine = engine
        return self._engine

    def _write(self, table: Table, records: Sequence[Record], *, keep_existing: bool = False) -> None:
        if records:
            with transaction(self._ready(), writing=True) as connection:
                upsert(connection, table, [asdict(record) for record in records], keep_existing)

    def _write_run(
        self, table: Table, run_id: str, job: str, records: Sequence[Record], *which: ColumnElement[bool]
    ) -> None:
        """All that a table has of one run, or all of it that is ``which``."""
        with transaction(self._ready(), writing=True) as connection:
            connection.execute(delete(table).where(in_run(table, run_id, job), *which))
            upsert(connection, table, [asdict(verdict_record) for verdict_record in records])

    def _read(self, kind: type[Record], statement: Any) -> list[Record]:
        with transaction(self._ready(), writing=False) as connection:
            rows = connection.execute(statement).mappings().all()
        names = [f.name for f in fields(kind)]
        return [kind(**{name: _frozen(row[name]) for name in names}) for row in rows]

    def _of_run(
        self, kind: type[Record], table: Table, run_id: str, job: str, *order: Column[Any]
    ) -> list[Record]:
        return self._read(kind, select(table).where(in_run(table, run_id, job)).order_by(*order))

    def _of_query(
        self,
        kind: type[Record],
        table: Table,
        moment: Column[Any],
        query: str,
        limit: int,
        offset: int,
        where: Sequence[ColumnElement[bool]] = (),
    ) -> list[Record]:
        chosen = select(table).where(table.c.query == query, *where)
        order = (moment.desc(), *_last(table))
        return self._read(kind, chosen.order_by(*order).limit(limit).offset(offset))

    def _newest(
        self,
        kind: type[Record],
        table: Table,
        moment: Column[Any],
        keys: list[Column[Any]],
        number: int = 1,
        where: Sequence[ColumnElement[bool]] = (),
    ) -> list[Record]:
        row_number = func.row_number().over(partition_by=keys, order_by=[moment.desc(), *_last(table)])
        key = list(table.primary_key)
        # Ranked by columns of an index alone, so that only the rows that are wanted are read.
        ranked: Subquery = select(*key, row_number.label("position")).where(*where).subquery()
        query = select(table).join(ranked, and_(*(column == ranked.c[column.name] for column in key)))
        return self._read(kind, query.where(ranked.c.position <= number).order_by(*keys, ranked.c.position))


def _last(table: Table) -> tuple[ColumnElement[Any], ...]:
    """Which of several runs counts as the newer one where their moments are the same."""
    return table.c.run_id.desc(), table.c.job.desc()


def in_run(table: Table, run_id: str, job: str) -> ColumnElement[bool]:
    """Rows of one run."""
    return (table.c.run_id == run_id) & (table.c.job == job)


def before(table: Table, moment: Column[Any], run_id: str, job: str) -> ColumnElement[bool]:
    """Rows of other runs that are older than all of a run's; none if it has none."""
    mine = in_run(table, run_id, job)
    return ~mine & (moment < select(func.min(moment)).where(mine).scalar_subquery())


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
