"""Suggestions: each is bounded when it is decided again from what was returned, with the units it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.strategies import VALUES, Case, cases, statements, timed_cases

from streambound.certificate.edits import Change
from streambound.certificate.suggestions import FIRST, SUGGESTIONS
from streambound.compiler.report import Report, check
from streambound.projects.registry import load_registry
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.parse import named_queries
from streambound.query.registry import metadata

# An example decides some dozens of queries.
FEWER = settings(max_examples=settings().max_examples // 4)
REGISTRY = load_registry(Path(__file__).parents[2] / "include" / "registry")
STREAMS: dict[str, Any] = {
    "S": {"columns": {"A": "int", "B": "int", "ts": "int"}, "timestamp": "ts"},
    "T": {"columns": {"D": "int", "E": "int", "ts": "int"}, "timestamp": "ts"},
    "N": {"columns": {"name": "string", "group by": "int", "price": "double", "day": "date"}},
}
CATALOG = catalog_from_mapping(STREAMS)
UNTIMED = catalog_from_mapping(
    {
        name: {key: kind for key, kind in body["columns"].items() if key != "ts"}
        for name, body in STREAMS.items()
    }
)


def long_form(body: Any) -> dict[str, Any]:
    return dict(body) if "columns" in body else {"columns": dict(body)}


def declared(streams: dict[str, Any], snippet: dict[str, Any]) -> Catalog:
    """The catalog with a suggestion's declarations written into it, as a user would."""
    merged = {name: long_form(body) for name, body in streams.items()}
    for name, keys in snippet.items():
        for key, columns in keys.items():
            merged[name][key] = {**merged[name].get(key, {}), **columns}
    return catalog_from_mapping(merged)


def assert_rechecks(streams: dict[str, Any], catalog: Catalog, sql: str, report: Report) -> None:
    """Everything is decided again from the JSON alone."""
    for found in json.loads(json.dumps(report.to_json()))["suggestions"]:
        again = check(found["sql"], catalog)
        assert (again.verdict, again.units) == ("bounded", found["units"]), found
        assert found["verdict"] == "bounded" and found["sql"] != sql and found["change"]
        assert all(reason.code != "unsatisfiable" for reason in again.reasons)
        for key in {"catalog", "cardinality"} & set(found):
            as_it_stands = check(sql, declared(streams, found[key]))
            assert (as_it_stands.verdict, as_it_stands.units) == ("bounded", found[f"{key}_units"]), found
            assert all(reason.code != "unsatisfiable" for reason in as_it_stands.reasons)


def assert_case(case: Case) -> None:
    report = check(case.sql, case.catalog)
    assert len(report.suggestions) <= SUGGESTIONS
    assert not report.suggestions or report.verdict in ("unbounded", "unknown")
    assert_rechecks(case.streams, case.catalog, case.sql, report)
    if report.verdict == "unbounded":
        assert report.suggestions, case


@FEWER
@given(cases(types=tuple(VALUES)))
def test_suggestions_recheck_on_random_queries_of_every_type(case: Case) -> None:
    assert_case(case)


@FEWER
@given(cases())
def test_suggestions_recheck_on_random_queries(case: Case) -> None:
    assert_case(case)


@FEWER
@given(timed_cases())
def test_suggestions_recheck_on_random_timed_queries(case: Case) -> None:
    assert_case(case)


@FEWER
@given(statements())
def test_suggestions_recheck_on_random_statements_with_or_and_union(case: Case) -> None:
    assert_case(case)


@FEWER
@given(st.data())
def test_suggestions_recheck_on_random_self_joins(data: st.DataObject) -> None:
    columns = ["x.A", "x.B", "y.A", "y.B"]
    pairs = st.tuples(
        st.sampled_from(columns[:2]), st.sampled_from(["<", "<=", "=", "<>"]), st.sampled_from(columns[2:])
    )
    atoms = [" ".join(pair) for pair in data.draw(st.lists(pairs, min_size=1, max_size=3))]
    distinct = data.draw(st.sampled_from(["", "DISTINCT "]))
    select = data.draw(st.sampled_from(["1", *columns]))
    sql = f"SELECT {distinct}{select} FROM S x, S y WHERE {' AND '.join(atoms)}"
    report = check(sql, CATALOG)
    assert_rechecks(STREAMS, CATALOG, sql, report)
    assert report.suggestions or report.verdict == "bounded"


@pytest.mark.parametrize("query", REGISTRY.queries, ids=lambda query: query.name)
def test_every_registered_unbounded_query_has_a_suggestion(query: Any) -> None:
    report = check(query.sql, REGISTRY.catalog, query.name)
    assert bool(report.suggestions) is (report.verdict == "unbounded")
    for suggestion in report.suggestions:
        again = check(suggestion.sql, REGISTRY.catalog, query.name)
        assert (again.verdict, again.units) == ("bounded", suggestion.size.units)
        assert metadata(suggestion.sql) == metadata(query.sql)


def suggested(sql: str, catalog: Catalog = UNTIMED) -> list[str]:
    return [suggestion.sql for suggestion in check(sql, catalog).suggestions]


def test_what_the_user_wrote_stays_as_it_was() -> None:
    sql = (
        "-- owner: me\nSELECT s.A,  -- the key\n  s.B\nFROM S s, T\nWHERE s.A = D  -- pairs\n  AND s.B = 1\n"
    )
    assert suggested(sql)[0] == sql[:-1] + "\n  AND s.A BETWEEN 0 AND 999\n"


def test_a_query_without_where_gets_one() -> None:
    assert suggested("SELECT DISTINCT A FROM S")[0] == "SELECT DISTINCT A FROM S WHERE S.A BETWEEN 0 AND 999"
    assert (
        suggested("SELECT DISTINCT A\nFROM S;")[0]
        == "SELECT DISTINCT A\nFROM S\nWHERE S.A BETWEEN 0 AND 999;"
    )


def test_the_kinds_of_change() -> None:
    assert suggested("SELECT DISTINCT A FROM S")[1:] == ["SELECT A FROM S", "SELECT DISTINCT 1 FROM S"]
    assert "SELECT DISTINCT A FROM S, T WHERE B < D AND A = 1" in suggested(
        "SELECT A FROM S, T WHERE B < D AND A = 1"
    )
    window = "T.ts BETWEEN S.ts - 60 AND S.ts + 60"
    assert f"SELECT 1 FROM S, T WHERE B < D AND {window}" in suggested(
        "SELECT 1 FROM S, T WHERE B < D", CATALOG
    )
    dropped = "SELECT DISTINCT B FROM S WHERE B > 0 AND B < 9"
    assert dropped in suggested("SELECT DISTINCT A, B FROM S WHERE B > 0 AND B < 9")


def test_what_people_do_in_practice_comes_first() -> None:
    window = "T.ts BETWEEN S.ts - 60 AND S.ts + 60"
    assert suggested("SELECT DISTINCT A FROM S", CATALOG)[0] == "SELECT DISTINCT A, S.ts FROM S"
    sql = "SELECT DISTINCT\n  A,\n  B  -- both\nFROM S"
    assert suggested(sql, CATALOG)[0] == "SELECT DISTINCT\n  A,\n  B, S.ts  -- both\nFROM S"
    sql = "SELECT A, B, D, E FROM S, T WHERE A = D"
    assert suggested(sql, CATALOG)[0] == f"{sql} AND {window}"
    both = suggested("SELECT DISTINCT A FROM S, T WHERE A = D", CATALOG)[0]
    assert both == f"SELECT DISTINCT A, S.ts FROM S, T WHERE A = D AND {window}"


def test_one_missing_side_is_the_smallest_change() -> None:
    assert suggested("SELECT DISTINCT A FROM S WHERE A > 10")[0].endswith("WHERE A > 10 AND S.A <= 999")
    assert suggested("SELECT DISTINCT A FROM S WHERE A < 10")[0].endswith("WHERE A < 10 AND S.A >= 0")


def test_placeholders_lie_around_the_constants_of_the_query() -> None:
    assert suggested("SELECT DISTINCT A FROM S WHERE A > 5000")[0].endswith("S.A <= 9999")
    assert suggested("SELECT DISTINCT A FROM S WHERE A < -5")[0].endswith("S.A >= -10")
    assert (
        "DATE '2026-01-02' AND N.day <= DATE '2027-01-02'"
        in suggested("SELECT DISTINCT day FROM N WHERE day > DATE '2026-01-02'")[0]
    )
    assert suggested("SELECT DISTINCT price FROM N WHERE price > 2")[0].endswith("N.price IN (1.0, 2.0, 3.0)")


def test_bounds_of_the_other_side_and_of_the_catalog_are_taken() -> None:
    report = check("SELECT 1 FROM S, T WHERE S.A = T.D AND T.D > 3 AND S.A < 12", CATALOG)
    assert report.verdict == "bounded"
    streams = {
        "S": {"code": "string", "n": "int"},
        "T": {
            "columns": {"code": "string", "n": "int"},
            "domains": {"code": {"values": ["x", "y"]}, "n": {"min": 1, "max": 7}},
        },
    }
    found = check("SELECT DISTINCT code FROM S", catalog_from_mapping(streams)).suggestions[0]
    assert found.sql.endswith("S.code IN ('x', 'y')") and "placeholder" not in found.change
    found = check("SELECT DISTINCT n FROM S", catalog_from_mapping(streams)).suggestions[0]
    assert found.sql.endswith("S.n BETWEEN 1 AND 7") and "placeholder" not in found.change


def test_a_window_holds_the_offsets_of_the_query() -> None:
    sql = "SELECT 1 FROM S, T WHERE S.ts > T.ts + 500 AND S.A = T.D"
    assert any("S.ts - 1000 AND S.ts + 1000" in text for text in suggested(sql, CATALOG))


def test_names_that_need_backticks_get_them() -> None:
    assert suggested("SELECT DISTINCT `group by` FROM N")[0].endswith("WHERE N.`group by` BETWEEN 0 AND 999")


def test_two_edits_where_one_is_not_enough_and_both_are_needed() -> None:
    sql = "SELECT DISTINCT S.A, T.D FROM S, T"
    found = check(sql, UNTIMED).suggestions
    assert found and all("; " in suggestion.change for suggestion in found)
    assert found[0].catalog == {
        "S": {"domains": {"A": {"min": 0, "max": 999}}},
        "T": {"domains": {"D": {"min": 0, "max": 999}}},
    }


def test_every_kind_of_edit_has_its_turn_where_many_are_needed() -> None:
    assert sorted(FIRST) == sorted(Change)


def test_more_than_two_edits_are_found_one_after_the_other() -> None:
    found = check("SELECT DISTINCT S.A, S.B, T.D, T.E FROM S, T", UNTIMED).suggestions
    assert found and found[0].change.count("; ") == 3


def test_a_bound_on_a_select_with_or_holds_for_all_its_alternatives() -> None:
    first = suggested("SELECT DISTINCT A FROM S WHERE A > 5 AND B = 1 OR A > 7")[0]
    assert first == "SELECT DISTINCT A FROM S WHERE (A > 5 AND B = 1 OR A > 7) AND S.A <= 999"


def test_a_member_of_a_union_is_changed_where_it_stands() -> None:
    sql = "SELECT A FROM S\nUNION\nSELECT D FROM T WHERE D > 0 AND D < 9"
    assert suggested(sql)[0] == sql.replace("FROM S\n", "FROM S WHERE S.A BETWEEN 0 AND 999\n")


def test_the_member_that_is_unbounded_is_changed_and_no_other() -> None:
    sql = "SELECT 0 FROM S WHERE A >= 0 AND A <= 9 UNION ALL SELECT S.A FROM T, S"
    assert suggested(sql)[0] == f"{sql} WHERE S.A BETWEEN 0 AND 999"


def test_where_nobody_knows_the_values_their_number_can_be_declared() -> None:
    body = {"columns": {"C": "string", "A": "int", "D": "int"}, "domains": {"C": {"values": ["x"]}}}
    streams = {"S": {"C": "string", "A": "int"}, "T": body}
    catalog = catalog_from_mapping(streams)
    sql = "SELECT DISTINCT C FROM S WHERE A > 1"
    (listed,) = (s for s in check(sql, catalog).suggestions if "list the values" in s.change)
    # The list of a column of the same name is one that somebody knows.
    assert listed.cardinality is None
    alone = {"S": streams["S"]}
    report = check(sql, catalog_from_mapping(alone))
    assert_rechecks(alone, catalog_from_mapping(alone), sql, report)
    (listed,) = (s for s in report.suggestions if "list the values" in s.change)
    assert listed.cardinality == {"S": {"cardinality": {"C": 1000}}}
    # Of a join one side's number tells nothing of what waits on the other.
    joined = check(
        "SELECT DISTINCT S.C FROM S, U WHERE S.C = U.C", catalog_from_mapping({**alone, "U": streams["S"]})
    )
    assert [s.cardinality for s in joined.suggestions if s.change.startswith("list")] == [None, None]


def test_one_domain_serves_both_occurrences_of_a_self_join() -> None:
    (first, *_) = check("SELECT DISTINCT x.A, y.A FROM S x, S y", UNTIMED).suggestions
    assert first.catalog == {"S": {"domains": {"A": {"min": 0, "max": 999}}}}


def test_other_criteria_and_bounded_queries_have_none() -> None:
    assert not check("SELECT A FROM S", CATALOG).suggestions
    assert not check("SELECT DISTINCT A FROM S", CATALOG, criterion="arasu").suggestions


WRAPPERS = [
    "INSERT INTO x\n{}",
    "CREATE VIEW x AS {};",
    "CREATE OR REPLACE TEMPORARY VIEW x AS\n  {}\n;",
    "-- why\nINSERT INTO x {};\nSELECT name FROM N",
    "CREATE VIEW other AS SELECT name FROM N; CREATE VIEW x AS {}",
]


def assert_fits(text: str, select: str, catalog: Catalog, dialect: str | None = None) -> int:
    """Each suggestion of the query in a text is an edit of it that leaves all else; how many there are."""
    several = named_queries(text, catalog, dialect)
    query = "x" if len(several) > 1 else None
    before, after = text.split(select)
    found = check(text, catalog, dialect=dialect, query=query).suggestions
    for one in found:
        assert one.whole is not None
        assert one.whole.startswith(before) and one.whole.endswith(after) and one.whole != text
        assert named_queries(one.whole, catalog, dialect) == several
        assert check(one.whole, catalog, dialect=dialect, query=query).verdict == "bounded"
    return len(found)


@FEWER
@given(cases() | statements(), st.sampled_from(WRAPPERS))
def test_random_queries_are_edited_where_they_stand(case: Case, wrapper: str) -> None:
    catalog = catalog_from_mapping({**case.streams, "N": {"name": "string"}})
    event(f"suggestions: {assert_fits(wrapper.format(case.sql), case.sql, catalog)}")


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_query_in_another_statement_is_edited_where_it_stands(wrapper: str) -> None:
    select = "SELECT DISTINCT A  -- the key\n  FROM S"
    assert assert_fits(wrapper.format(select), select, CATALOG) == 3


@pytest.mark.parametrize(
    ("dialect", "text", "select"),
    [
        (
            "flink",
            "CREATE TABLE u (a INT, b INT) WITH ('connector' = 'kafka');\n"
            "EXECUTE STATEMENT SET BEGIN INSERT INTO y SELECT a FROM u; INSERT INTO x {}; END;",
            "SELECT DISTINCT a FROM u WHERE b < 3",
        ),
        ("risingwave", "CREATE MATERIALIZED VIEW x AS {}", "SELECT DISTINCT A FROM S"),
        ("spark", "WITH w AS (SELECT * FROM S) {}", "SELECT DISTINCT A FROM w"),
    ],
)
def test_so_it_is_in_scripts_and_other_dialects(dialect: str, text: str, select: str) -> None:
    assert assert_fits(text.format(select), select, CATALOG, dialect) == 3


def test_clauses_after_the_query_stay_behind_the_edits() -> None:
    found = check("SELECT DISTINCT A FROM S EMIT CHANGES;", CATALOG, dialect="ksql").suggestions
    assert [one.whole for one in found] == [
        "SELECT DISTINCT A, S.ts FROM S EMIT CHANGES;",
        "SELECT DISTINCT A FROM S WHERE S.A BETWEEN 0 AND 999 EMIT CHANGES;",
        "SELECT A FROM S EMIT CHANGES;",
    ]


def test_a_text_that_does_not_hold_the_edits_is_left() -> None:
    found = check("FROM S SELECT DISTINCT A, B", CATALOG, dialect="duckdb").suggestions
    assert [one.whole for one in found if one.change.startswith("show S.ts")] == [None]


GROUPED = "SELECT S.A, COUNT(*)\nFROM S -- all of them\nGROUP BY S.A\nHAVING COUNT(*) > 1"


def test_a_window_of_time_becomes_a_key_where_the_text_has_its_keys() -> None:
    report = check(GROUPED, CATALOG)
    assert_rechecks(STREAMS, CATALOG, GROUPED, report)
    window, bound, session = (s.sql for s in report.suggestions)
    assert "FROM S\nWHERE S.A BETWEEN 0 AND 999 -- all of them\nGROUP BY S.A" in bound
    assert "GROUP BY S.A, window(S.ts, 60)\nHAVING" in window
    assert "GROUP BY S.A, session_window(S.ts, 60)\nHAVING" in session


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (
            "S.A, S.B, T.E",
            "S.A, SUM(S.B) AS sum_B, SUM(T.E) AS sum_E, COUNT(*) AS number_of_rows FROM S, T{} GROUP BY S.A",
        ),
        ("S.B, T.E", "SUM(S.B) AS sum_B, SUM(T.E) AS sum_E, COUNT(*) AS number_of_rows FROM S, T{}"),
        (
            "S.B AS x, S.B AS y",
            "SUM(S.B) AS sum_x, SUM(S.B) AS sum_y, COUNT(*) AS number_of_rows FROM S, T{}",
        ),
    ],
)
def test_totals_can_stand_for_rows(shown: str, text: str) -> None:
    where = " WHERE S.A = T.D AND S.A BETWEEN 1 AND 9"
    sql = f"SELECT {shown} FROM S, T{where}"
    report = check(sql, CATALOG)
    assert_rechecks(STREAMS, CATALOG, sql, report)
    (totals,) = (s for s in report.suggestions if s.change.startswith("aggregate before it is kept"))
    assert totals.sql == f"SELECT {text.format(where)}" and totals.size.units


@pytest.mark.parametrize(
    ("dialect", "key"),
    [
        ("spark", "GROUP BY s, session_window(S.ts, '1 hour')"),
        ("flink", "GROUP BY s, SESSION(S.ts, INTERVAL '1' HOUR)"),
        ("ksql", "FROM S WINDOW SESSION (1 HOUR) GROUP BY s"),
        ("azure", "GROUP BY s, SessionWindow(hour, 1)"),
        ("arroyo", "GROUP BY s, SESSION(INTERVAL '1 hour')"),
        ("risingwave", None),
        ("feldera", None),
    ],
)
def test_a_state_that_lives_for_a_time_is_an_approximation_and_said_to_be_one(
    dialect: str, key: str | None
) -> None:
    body = {"columns": {"s": "string", "ts": "timestamp"}, "timestamp": "ts"}
    sql = "SELECT s, COUNT(*) AS n FROM S GROUP BY s"
    report = check(sql, catalog_from_mapping({"S": body}), dialect=dialect)
    told = [s.whole for s in report.suggestions if s.change.startswith("an approximation, as a TTL")]
    assert len(told) == (key is not None) and all(whole is not None and str(key) in whole for whole in told)


def test_a_global_aggregate_gets_a_window() -> None:
    sql = "SELECT COUNT(DISTINCT A) FROM S"
    report = check(sql, CATALOG)
    assert_rechecks(STREAMS, CATALOG, sql, report)
    assert any("window" in s.sql.lower() for s in report.suggestions)


@pytest.mark.parametrize(
    ("sql", "edit"),
    [
        ("SELECT 1 FROM S WHERE EXISTS (SELECT 1 FROM T WHERE S.A < T.D)", "S.A BETWEEN 0 AND 999"),
        ("SELECT S.B, T.E FROM S ASOF JOIN T ON S.A = T.D AND T.ts <= S.ts", "T.D BETWEEN 0 AND 999"),
        ("SELECT COUNT(*) FROM S, T WHERE S.A < T.D", "T.ts BETWEEN S.ts - 60 AND S.ts + 60"),
    ],
)
def test_what_waits_and_what_is_looked_up_can_be_bounded(sql: str, edit: str) -> None:
    report = check(sql, CATALOG)
    assert_rechecks(STREAMS, CATALOG, sql, report)
    assert any(edit in s.sql for s in report.suggestions)


WITHIN = "T.ts BETWEEN S.ts - 60 AND S.ts + 60"


@pytest.mark.parametrize(
    ("sql", "edited"),
    [
        ("SELECT A FROM S WHERE NOT EXISTS (SELECT 1 FROM T WHERE D = A)", "WHERE D = A AND {})"),
        ("SELECT A FROM S WHERE B NOT IN (SELECT E FROM T)", "FROM T WHERE {})"),
        (
            "SELECT A FROM S WHERE EXISTS (SELECT 1 FROM T WHERE D = A OR E = B)",
            "WHERE (D = A OR E = B) AND {})",
        ),
        (
            "SELECT A FROM S LEFT ANTI JOIN T ON D = A -- none\nWHERE B > 1",
            "ON D = A AND {} -- none\nWHERE B > 1",
        ),
        ("SELECT A, D FROM S LEFT JOIN T ON D = A WHERE B > 1", "ON D = A AND {} WHERE B > 1"),
        ("SELECT A, D FROM S FULL OUTER JOIN T ON D = A OR E = B", "ON (D = A OR E = B) AND {}"),
        ("SELECT A, D FROM T RIGHT JOIN S ON D = A", "ON D = A AND S.ts BETWEEN T.ts - 60 AND T.ts + 60"),
    ],
)
def test_a_window_stands_where_partners_are_looked_for_so_that_rows_without_one_stay(
    sql: str, edited: str
) -> None:
    report = check(sql, CATALOG)
    assert_rechecks(STREAMS, CATALOG, sql, report)
    assert any(s.sql.endswith(edited.format(WITHIN)) for s in report.suggestions), report.suggestions


def test_what_was_observed_comes_after_what_is_written_and_says_so() -> None:
    body = {
        "columns": {"A": "int", "B": "int", "C": "string", "D": "double"},
        "domains": {"B": {"max": 70}},
        "observed": {
            "A": {"min": 2_000, "max": 5_000, "different": 12, "nulls": 0},
            "B": {"min": -3, "max": 9},
            "C": {"values": ["x", "y"]},
            "D": {"min": 0.5, "max": 1.5},
        },
    }
    catalog = catalog_from_mapping({"S": body})

    def changes(column: str) -> str:
        return " ".join(s.change for s in check(f"SELECT DISTINCT {column} FROM S", catalog).suggestions)

    assert "S.A BETWEEN 2000 AND 5000 (as observed: a promise only if you make it one)" in changes("A")
    # The end that is lacking is the observed one; the declared one stands.
    assert "S.B >= -3 (as observed" in changes("B")
    assert "S.C IN ('x', 'y') (as observed" in changes("C")
    # No list was observed of a dense column.
    assert "(placeholder: put in your own values)" in changes("D")
    written = check("SELECT DISTINCT A FROM S WHERE A > 1", catalog).suggestions[0].change
    assert "S.A <= 5000 (as observed" in written


def test_what_was_observed_bounds_nothing() -> None:
    plain = {"columns": {"A": "int"}}
    seen = {**plain, "observed": {"A": {"min": 0, "max": 3}}}
    for sql in ("SELECT DISTINCT A FROM S", "SELECT 1 AS one FROM S, S T WHERE S.A = T.A"):
        verdicts = [check(sql, catalog_from_mapping({"S": body})) for body in (plain, seen)]
        assert [v.verdict for v in verdicts] == ["unbounded"] * 2
        assert verdicts[0].reasons == verdicts[1].reasons


ORDERS = """CREATE TABLE o (id BIGINT, c BIGINT, v DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
  WITH ('connector' = 'kafka');
CREATE TABLE p (id BIGINT, v DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka');
"""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT c, SUM(v) AS s FROM o GROUP BY c",
        "INSERT INTO sink SELECT c, COUNT(DISTINCT id) AS n FROM o WHERE c BETWEEN 0 AND 3 GROUP BY c",
        "INSERT INTO sink SELECT o.id FROM o WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.id = o.id)",
        "INSERT INTO sink SELECT o.id, o.v FROM o WHERE o.id NOT IN (SELECT id FROM p)",
        "SELECT o.id, p.v FROM o LEFT JOIN p ON o.id = p.id",
        "SELECT id, SUM(v) OVER (PARTITION BY c ORDER BY ts) AS s FROM o",
    ],
)
def test_groups_guards_and_frames_of_scripts_have_suggestions_in_the_users_text(sql: str) -> None:
    script = ORDERS + sql + ";\n"
    report = check(script, Catalog(()), dialect="flink")
    assert report.verdict == "unbounded" and report.suggestions
    for found in report.suggestions:
        assert found.whole is not None and found.whole.startswith(ORDERS)
        again = check(found.whole, Catalog(()), dialect="flink")
        assert (again.verdict, again.units) == ("bounded", found.size.units)


VIEWS = """CREATE VIEW w AS SELECT id, c, v, ts FROM o;
CREATE VIEW x AS SELECT id AS i, c, v, ts FROM w WHERE v > 1;
"""


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("INSERT INTO sink SELECT c, SUM(v) AS s FROM x GROUP BY c", 3),
        ("INSERT INTO sink SELECT x.c, COUNT(*) AS n FROM x GROUP BY x.c", 3),
        # A view calls it by another name than its stream: it is no column of the view.
        ("INSERT INTO sink SELECT i, COUNT(*) AS n FROM x GROUP BY i", 2),
        ("INSERT INTO sink SELECT x.c FROM x WHERE NOT EXISTS (SELECT 1 FROM p WHERE p.id = x.c)", 2),
        ("INSERT INTO sink WITH y AS (SELECT c, v, ts FROM x) SELECT c, SUM(v) AS s FROM y GROUP BY c", 3),
    ],
)
def test_so_have_those_of_views_of_the_same_script(sql: str, count: int) -> None:
    script = ORDERS + VIEWS + sql + ";\n"
    report = check(script, Catalog(()), dialect="flink", query="sink")
    assert report.verdict == "unbounded" and len(report.suggestions) == count
    for found in report.suggestions:
        assert found.whole is not None and found.whole.startswith(ORDERS + VIEWS)
        again = check(found.whole, Catalog(()), dialect="flink", query="sink")
        assert again.verdict == "bounded"
