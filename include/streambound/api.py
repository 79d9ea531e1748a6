"""What ``import streambound`` offers: the command line's work, typed, without the process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streambound import compiler
from streambound.boundedness.statements import decide
from streambound.certificate.statements import statement_witness
from streambound.certificate.verification import Verification, Witness
from streambound.certificate.verification import verify as replayed
from streambound.compiler.report import check as report_on
from streambound.errors import QueryError, meant
from streambound.evaluation.corpus import evaluated
from streambound.evaluation.data_frames import events_of, rows_of
from streambound.notebook import Checked, Compiled, Run
from streambound.notebook import run as over_frames
from streambound.query.catalog import Catalog, catalog_from_mapping, load_catalog
from streambound.query.column_types import shown
from streambound.query.modes import MODES
from streambound.query.parse import statement
from streambound.query.parse.corpus import CorpusLine

if TYPE_CHECKING:
    from streambound.simulator.experiments.simulation import Outcome

ENGINES = ("onepass", "reference")

__all__ = ["catalog", "check", "compile", "evaluate", "run", "simulate", "verify", "witness"]


def catalog(source: Path | str | Mapping[str, Any]) -> Catalog:
    """The stream catalog in a YAML file or in a mapping of names to columns, below ``streams`` or not.

    Raises:
        CatalogError: naming the place, what was found and what is accepted.
    """
    if isinstance(source, (str, Path)):
        return load_catalog(Path(source))
    below = source.get("streams") if isinstance(source, Mapping) and len(source) == 1 else None
    if (
        isinstance(below, Mapping)
        and "columns" not in below
        and all(isinstance(v, Mapping) for v in below.values())
    ):
        # What a file has.
        return catalog_from_mapping(below)
    return catalog_from_mapping(source)


def check(
    sql: str,
    catalog: Catalog,
    name: str = "query",
    criterion: str = "exact",
    suggest: bool = True,
    dialect: str | None = None,
    query: str | None = None,
    engine: str | None = None,
) -> Checked:
    """The verdict on a query, and why; bad SQL is a verdict, not an exception. It shows itself in a notebook.

    Args:
        suggest: with bounded variants of a query that is not bounded; they decide some dozens of others.
        dialect: that of the text; without it what its first comments say, or a guess.
        query: which one, of a text of several; its name is then ``name/query``.
        engine: with what that one keeps of the query as it is written.

    Raises:
        QueryError: sql is no text, or catalog none.
    """
    report = report_on(sql, catalog, name, criterion, suggest, dialect, query, engine)
    return Checked(**vars(report), sql=sql)


def compile(
    sql: str,
    catalog: Catalog,
    name: str = "query",
    criterion: str = "exact",
    dialect: str | None = None,
    query: str | None = None,
) -> Compiled:
    """The query with its verdict and, if it is bounded, its plan. It shows itself in a notebook.

    Raises:
        StreamboundError: it cannot be read, or is not supported.
    """
    return Compiled(**vars(compiler.compile(sql, catalog, name, criterion, dialect=dialect, query=query)))


def run(
    sql: str,
    tables: Mapping[str, Any],
    catalog: Catalog | Mapping[str, Any] | Path | str | None = None,
    *,
    mode: str | None = None,
    dialect: str | None = None,
) -> Run:
    """A bounded query over data frames, in one pass; needs the extra ``run``.

    Args:
        tables: by name of a stream or static relation its rows: a frame of pandas, Polars or PySpark, a table
            of pyarrow, a relation of DuckDB (anything that speaks Arrow), or a list of mappings. They are
            read into memory; of streams with timestamps in any order.
        catalog: what is promised of them, as in ``streams.yml``; what it does not say of columns the frames
            do: ``{"S": {"timestamp": "ts", "domains": {"A": {"min": 0, "max": 9}}}}``.
        mode: ``changes`` or ``final``; None: as the text says.

    Raises:
        StreamboundError: the query is not bounded, or the data do not fit the catalog.
    """
    loaded = load_catalog(Path(catalog)) if isinstance(catalog, (str, Path)) else catalog
    _require(loaded is None or isinstance(loaded, (Catalog, Mapping)), "catalog", loaded, "a catalog")
    return over_frames(sql, tables, loaded, mode=mode, dialect=dialect)


def evaluate(
    sql: str,
    catalog: Catalog,
    events: Iterable[Mapping[str, Any]] | Mapping[str, Any] | Any,
    static: Mapping[str, Any] | None = None,
    engine: str = "onepass",
    mode: str | None = None,
) -> dict[str, Any]:
    """The new answers at each marker, and the most units that were stored.

    Args:
        events: ``{"stream": name, column: value, ...}`` in time (arrival) order; or a data frame (pandas,
            polars, pyarrow) with the rows of the query's stream, or with a column ``stream``; or
            ``{name: data frame or list of rows, ...}``, then in any order if the streams have timestamps.
        static: the rows of each static relation, or a data frame of them.
        engine: ``onepass`` (the plan) or ``reference`` (the definition; units are None).
        mode: ``changes``: answers are taken back; ``final``: each row once, when nothing takes it back any
            more; None: as the text says (``-- mode: final``), or else ``changes``.

    Raises:
        StreamboundError: the query has no bounded plan, or the data do not fit the catalog.
    """
    if engine not in ENGINES:
        raise QueryError(
            f"the engine is {shown(engine)}", accepted=", ".join(ENGINES), fix=meant(str(engine), ENGINES)
        )
    if mode is not None and mode not in MODES:
        raise QueryError(f"the mode is {shown(mode)}", accepted=", ".join(MODES), fix=meant(str(mode), MODES))
    query = statement(sql, catalog, "query")
    given = events_of(query, events, catalog)
    line = CorpusLine("query", sql, catalog, tuple(given), rows_of({} if static is None else static, catalog))
    return evaluated(line, engine, mode)


def witness(sql: str, catalog: Catalog, size: int) -> Witness:
    """Input that no finite state can tell apart: ``size`` slots, of which 2^size prefixes are made.

    Raises:
        WitnessError: the query is not unbounded, or its types have no room for so many slots.
        StreamboundError: it cannot be read.
    """
    _require(isinstance(size, int), "size", size, "a whole number of slots")
    query = statement(sql, catalog, "query")
    return statement_witness(query, decide(query), size)


def verify(sql: str, catalog: Catalog, witness: Witness) -> Verification:
    """Replay all prefixes of a witness on the definition; ``holds`` if each asks for a state of its own.

    Raises:
        WitnessError: there are too many slots to replay.
        StreamboundError: the query cannot be read, or the events do not fit the catalog.
    """
    _require(isinstance(witness, Witness), "witness", witness, "what streambound.witness gives")
    return replayed(statement(sql, catalog, "query"), witness)


def simulate(
    values: Sequence[Any],
    policies: Sequence[str],
    sizes: Sequence[int],
    problem: str = "caching",
    *,
    warmup: int = 0,
    bypass: bool = False,
    window: int | None = None,
    weights: Sequence[Sequence[float]] | None = None,
    seed: int = 0,
    model: str | None = None,
    alpha: float | None = None,
) -> list[Outcome]:
    """What cache policies of limited memory produce: one outcome a policy and size.

    Args:
        values: the reference stream (caching), or one sequence a stream, all joined with each other.
        sizes: how many tuples are cached.
        warmup: steps that do not count.
        bypass: caching: whether the fetched item may itself be the one discarded.
        window: joining: how many steps after its own a tuple still meets arrivals; None: for ever.
        model: what the policies know: ``fit`` (on the warm-up), ``tower``, ``roof``, ``floor``, ``walk``, or
            a YAML file; None: nothing, but HEEB fits a model.
        alpha: HEEB's; None: as section 5 of the paper chooses it.
        weights: joining: what each tuple stands for, shaped as ``values``.

    Raises:
        StreamboundError: naming what was found and what is accepted.

    >>> [outcome.results for outcome in simulate([1, 2, 3, 1, 2], ["lru", "lfd"], [2])]
    [0.0, 1.0]
    """
    # Loaded here: whoever only checks queries must not wait for numba.
    from streambound.simulator.contract import Memory
    from streambound.simulator.experiments.simulation import outcomes
    from streambound.simulator.problems import references, streams

    _require(_several(values), "values", values, "a sequence of values, or of sequences")
    _require(_several(policies, str), "policies", policies, "a sequence of names")
    _require(_several(sizes, Integral), "sizes", sizes, "a sequence of whole numbers")
    _require(
        window is None or isinstance(window, Integral), "window", window, "a whole number of steps, or None"
    )
    _require(
        weights is None or (_several(weights) and all(_several(each, Real) for each in weights)),
        "weights",
        weights,
        "a sequence of numbers for each stream, or None",
    )
    _require(model is None or isinstance(model, (str, Path)), "model", model, "a name, a file, or None")
    _require(alpha is None or isinstance(alpha, Real), "alpha", alpha, "a number, or None")
    if problem not in ("caching", "joining"):
        raise QueryError(f"the problem is {problem!r}", accepted="caching, joining")
    caching = problem == "caching"
    given = references(values) if caching else streams(*values, window=window, weights=weights)
    memory = Memory(0, bypass, warmup, seed, alpha=alpha)
    return list(outcomes(given, policies, sizes, memory, model))


def _several(value: Any, of: type = object) -> bool:
    """Whether a value is a sequence or an array, of values of a type."""
    listed = isinstance(value, Sized) and isinstance(value, Iterable)
    return listed and not isinstance(value, (str, bytes, Mapping)) and all(isinstance(v, of) for v in value)


def _require(fits: bool, argument: str, value: Any, accepted: str) -> None:
    if not fits:
        raise QueryError(f"{argument} is {shown(value)}", accepted=accepted, fix=f"give {argument} so")
