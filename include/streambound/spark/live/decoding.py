"""From the columns of a source to those that the catalog declares, exactly or not at all.

A payload of JSON is read with the declared columns as its schema, one of Avro with its own. What Spark would
round or cut in silence (a decimal with more digits than declared, a second with more than six) is told apart
as malformed, like a record that is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound.errors import CatalogError, DataError, PlatformError, meant
from streambound.query.column_types import Family, Type, digits_of
from streambound.query.model import Live, Payload, Relation
from streambound.spark.data_frames import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The column with what is wrong with a row, NULL where nothing is; of a form that no catalog uses.
MALFORMED = "streambound malformed"
_RECORD, _CORRUPT = "streambound record", "streambound corrupt"
# Sources that take the schema of their rows from whoever reads them; of some values are text.
FILES, TEXTUAL = ("csv", "json", "orc", "parquet"), ("csv", "json")
_FINER = r"[.,]\d{6}\d*[1-9]"
_MICROSECONDS = {"second": 1_000_000, "millisecond": 1_000, "microsecond": 1}
_MOST = 38


def schema_of(relation: Relation) -> str:
    """The schema with which files are read, as Spark's DDL; textual ones tell which records are none."""
    live = _live(relation)
    if live.format not in TEXTUAL:
        return _ddl(_tree(relation, "", textual=False))
    return f"{_ddl(_tree(relation, '', textual=True))}, `{_CORRUPT}` string"


def reader_options(live: Live) -> dict[str, str]:
    """Options without which files of text would be read as what they are not."""
    if live.format not in TEXTUAL:
        return {}
    # A header has to be that of the declared columns, not only to have as many.
    headed = {"enforceSchema": "false"} if live.format == "csv" else {}
    return {**headed, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}


def decoded(frame: DataFrame, relation: Relation, beside: Path) -> DataFrame:
    """The declared columns of a source's rows, and what is wrong with them (``MALFORMED``).

    Args:
        beside: the folder of the catalog's file, in which files with schemas are.

    Raises:
        DataError: the source has no such columns.
        PlatformError: Spark lacks a package.
    """
    from pyspark.sql import functions as f

    live = _live(relation)
    wrong: list[Column] = []
    if live.value is not None:
        frame = frame.withColumn(_RECORD, _record(frame, relation, live.value, beside))
        wrong = _no_record(live.value)
    elif _CORRUPT in frame.columns:
        wrong = [f.col(f"`{_CORRUPT}`")]
    columns = []
    for column in relation.own:
        value, fault = _value(frame, relation, column.name)
        columns.append(value.alias(column.name))
        wrong += [] if fault is None else [fault]
    if relation.timestamp is not None:
        (moment,) = (v for v, c in zip(columns, relation.own, strict=True) if c.name == relation.timestamp)
        wrong.append(f.when(moment.isNull(), f.lit(f"no value of {relation.timestamp}")))
    return frame.select(*columns, f.coalesce(*wrong, f.lit(None).cast("string")).alias(MALFORMED))


def _live(relation: Relation) -> Live:
    assert relation.live is not None
    return relation.live


def _path(relation: Relation, column: str) -> list[str]:
    """Where the source has a column: its own column first, of a payload ``_RECORD``."""
    live = _live(relation)
    given = dict(live.columns).get(column)
    if live.value is None:
        return (given or column).split(".") if given else [column]
    if given is None:
        return [_RECORD, column]
    if given == live.value.column or given.startswith(f"{live.value.column}."):
        return [_RECORD, *given.removeprefix(live.value.column).removeprefix(".").split(".")]
    return given.split(".")


Tree = dict[str, Any]


def _tree(relation: Relation, within: str, textual: bool) -> Tree:
    """The types that a record is read with, by name; of structures further ones.

    Args:
        within: a column of the source; nothing for the source itself.
    """
    tree: Tree = {}
    for column in relation.own:
        path = _path(relation, column.name)
        if within:
            if path[0] != within:
                continue
            path = path[1:]
        at = tree
        for name in path[:-1]:
            at = at.setdefault(name, {})
            if not isinstance(at, dict):
                raise _twice(relation, column.name)
        if isinstance(at.setdefault(path[-1], _wire(_live(relation), column.type, textual)), dict):
            raise _twice(relation, column.name)
    return tree


def _twice(relation: Relation, column: str) -> CatalogError:
    return CatalogError(
        f"stream {relation.name}: columns of live: {column} is within another column, or holds one",
        fix="let each column name a value of its own",
    )


def _ddl(tree: Mapping[str, Any]) -> str:
    return ", ".join(f"{_name(name)} {_type(kind)}" for name, kind in tree.items())


def _type(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    return f"struct<{', '.join(f'{_name(name)}: {_type(inner)}' for name, inner in kind.items())}>"


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _wire(live: Live, kind: Type, textual: bool) -> str:
    """The type that a value is first read with."""
    options = dict(live.options) | (dict(live.value.options) if live.value else {})
    if kind.family is Family.NUMBER and kind.resolution == 1 and not kind.name.startswith("decimal"):
        return "bigint"
    if not textual or (kind.family is Family.TIMESTAMP and "timestampFormat" in options):
        return kind.name
    return "string" if kind.name.startswith("decimal") or kind.family is Family.TIMESTAMP else kind.name


def _record(frame: DataFrame, relation: Relation, value: Payload, beside: Path) -> Column:
    from pyspark.sql import functions as f

    payload = _column(frame, relation, value.column.split("."))
    if value.schema_id is not None:
        # A byte of zero and the number in four, as registries of schemas frame what they have checked.
        mark = (b"\0" + value.schema_id.to_bytes(4, "big")).hex().upper()
        rest = f.substring(payload, len(mark) // 2 + 1, 2**31 - 1)
        payload = f.when(f.hex(f.substring(payload, 1, len(mark) // 2)) == mark, rest)
    if value.format == "json":
        schema = f"{_ddl(_tree(relation, _RECORD, textual=True))}, `{_CORRUPT}` string"
        options = {**dict(value.options), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        return f.from_json(payload.cast("string"), schema, options)
    from pyspark.sql.avro.functions import from_avro

    return from_avro(
        payload, _avro_schema(relation, value, beside), {**dict(value.options), "mode": "PERMISSIVE"}
    )


def _avro_schema(relation: Relation, value: Payload, beside: Path) -> str:
    schema = str(value.schema)
    if schema.lstrip().startswith(("{", "[", '"')):
        return schema
    path = beside / schema
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"the Avro schema of stream {relation.name} cannot be read: {error}",
            subject=str(path),
            fix="correct schema in value of live: a file beside the stream catalog, or the schema's text",
        ) from None


def _no_record(value: Payload) -> list[Column]:
    """What is wrong with a payload that is no record."""
    from pyspark.sql import functions as f

    payload = quoted_path(value.column.split("."))
    shown = (
        payload.cast("string")
        if value.format == "json"
        else f.concat(f.lit("X'"), f.hex(payload), f.lit("'"))
    )
    none = f.when(f.col(f"`{_RECORD}`").isNull(), f.coalesce(shown, f.lit("NULL")))
    return [f.col(f"`{_RECORD}`.`{_CORRUPT}`"), none] if value.format == "json" else [none]


def quoted_path(path: list[str]) -> Column:
    """What lies within a column, by exact names."""
    return reduce(lambda outer, name: outer.getField(name), path[1:], quoted(path[0]))


def _column(frame: DataFrame, relation: Relation, path: list[str]) -> Column:
    """A column of a source, or what lies within it.

    Raises:
        DataError: there is none.
    """
    from pyspark.errors import PySparkException

    column = quoted_path(path)
    try:
        if path[0] in frame.columns:
            frame.select(column)
            return column
    except PySparkException:
        pass
    live = _live(relation)
    name = ".".join(part for part in path if part != _RECORD)
    where = "the payload" if path[0] == _RECORD else f"the {live.format} source"
    columns = [] if path[0] == _RECORD else [c for c in frame.columns if c not in (_RECORD, _CORRUPT)]
    raise DataError(
        f"{where} of stream {relation.name} has no column {name}",
        accepted=", ".join(columns) or None,
        fix=meant(name, columns)
        or "name where the source has it with columns, or its payload with value, in live of the catalog",
    )


def _value(frame: DataFrame, relation: Relation, name: str) -> tuple[Column, Column | None]:
    """The value of a declared column, and what is wrong with it (NULL if nothing is)."""
    from pyspark.sql import functions as f

    live, kind = _live(relation), relation.column(name).type
    path = _path(relation, name)
    column = _column(frame, relation, path)
    stored = frame.select(column.alias("v")).schema["v"].dataType.simpleString()
    if kind.family is Family.STRING:
        return (column.cast("string") if stored == "binary" else column), None
    if kind.family is Family.TIMESTAMP and live.epoch is not None and stored in (*_INTEGERS, "string"):
        # Exact, since whole microseconds are all that a timestamp has.
        number = column.try_cast("decimal(30,6)") * _MICROSECONDS[live.epoch]
        whole = number.try_cast("bigint")
        exact = f.when(number == whole, f.timestamp_micros(whole))
        return exact, _unless(column, exact.isNotNull(), name)
    if stored == "string" and kind.family is Family.TIMESTAMP:
        moment = column.try_cast("timestamp")
        return moment, _unless(column, moment.isNotNull() & ~column.rlike(_FINER), name)
    if stored == "string" and kind.name.startswith("decimal"):
        precision, scale = digits_of(kind.name)
        full, narrow = (
            column.try_cast(f"decimal({_MOST},{_MOST - precision + scale})"),
            column.try_cast(kind.name),
        )
        return narrow, _unless(column, f.coalesce(full == narrow, f.lit(False)), name)
    return column, None


_INTEGERS = ("bigint", "int", "smallint", "tinyint")


def _unless(column: Column, sound: Column, name: str) -> Column:
    from pyspark.sql import functions as f

    text = f.concat(f.lit(f"{name} is "), column.cast("string"))
    return f.when(reduce(or_, [column.isNull(), sound]), f.lit(None).cast("string")).otherwise(text)


def lacks_package(error: Exception, version: str) -> PlatformError | None:
    """What is to be added to Spark, if that is what an error says."""
    text = str(error)
    for mark, what, package in (
        (
            "KAFKA_DATA_SOURCE_NOT_ENABLED",
            "the source kafka",
            "org.apache.spark:spark-sql-kafka-0-10_2.13:{}",
        ),
        ("AVRO_NOT_LOADED", "what decodes Avro", "org.apache.spark:spark-avro_2.13:{}"),
        ("source: avro", "the source avro", "org.apache.spark:spark-avro_2.13:{}"),
        ("source: delta", "the source delta", "io.delta:delta-spark_2.13 in the release for Spark {}"),
    ):
        if mark in text:
            return PlatformError(
                f"this Spark has no package with {what}",
                accepted=package.format(version),
                fix="add it to spark.jars.packages in spark-defaults.conf (SPARK_CONF_DIR names its folder)",
            )
    return None
