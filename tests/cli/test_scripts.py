"""``streambound check`` on scripts in the dialects of stream processors, and the examples of their page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from streambound.cli import main
from streambound.compiler.report import check
from streambound.errors import CatalogError
from streambound.query.catalog import Catalog, catalog_from_mapping
from streambound.query.dialects.languages import LANGUAGES

GUIDE = (Path(__file__).parents[2] / "docs" / "dialects.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"### (\w+)\n\n```sql\n(.*?)```\n\n(.*?)\.\n", GUIDE, re.DOTALL)
SCRIPT = (
    "CREATE TABLE a (k STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka');\n"
    "INSERT INTO good SELECT k FROM a WHERE k = 'x';\n"
    "INSERT INTO bad\nSELECT DISTINCT k FROM a;\n"
    "INSERT INTO counted SELECT UPPER(k), EXISTS (SELECT 1 FROM a), (SELECT 1) AS n FROM a SORT BY k;\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STREAMBOUND_REGISTRY", str(tmp_path / "registry"))
    (tmp_path / "job.sql").write_text(SCRIPT)
    return tmp_path


def test_the_page_has_an_example_of_every_dialect() -> None:
    assert {dialect for dialect, _, _ in EXAMPLES} == set(LANGUAGES)


def test_examples_have_the_verdicts_that_the_page_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "examples").mkdir()
    wanted = {}
    for dialect, text, said in EXAMPLES:
        (folder / "examples" / f"{dialect}.sql").write_text(text)
        found = re.findall(r"`(\w+)`: (\w+)", said)
        for name, verdict in found:
            wanted[dialect if len(found) == 1 else f"{dialect}/{name}"] = verdict
    main(["check", "--format", "json", "examples"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["query"]: line["verdict"] for line in lines} == wanted, lines
    for line in lines:
        name = line["query"].split("/")[0]
        assert line.get("dialect", "spark") == name, line


def test_each_query_of_a_script_is_told_under_its_own_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--dialect", "flink", "job.sql"]) == 2
    out = capsys.readouterr().out
    assert re.search(r"^bounded +job/good", out, re.MULTILINE)
    assert re.search(r"^unbounded +job/bad", out, re.MULTILINE)
    assert re.search(r"^invalid +job/counted", out, re.MULTILINE)
    for place, construct in (
        ("line 5, column 38", "EXISTS, a semi-join within an expression,"),
        ("line 5, column 64", "a sub-query in an expression"),
        ("line 5, column 87", "SORT BY"),
    ):
        assert f"{place}: {construct} is not supported yet" in out
    assert "SELECT DISTINCT k FROM a;\n" in out
    assert "1 bounded, 1 invalid, 1 unbounded" in out


def test_a_guess_is_said_and_a_comment_is_obeyed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "job.sql"])
    assert "read as flink, since it has WATERMARK FOR" in capsys.readouterr().out
    (folder / "job.sql").write_text(f"-- dialect: risingwave\n{SCRIPT}")
    main(["check", "--format", "json", "job.sql"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {one["dialect"] for one in found if one["error"] is None} == {"risingwave"}
    assert not any("guessed" in one for one in found)


def test_blockers_are_told_as_json_and_as_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--dialect", "flink", "--format", "json", "job.sql"])
    counted = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [one["construct"] for one in counted["blockers"]] == [
        "EXISTS",
        "a sub-query in an expression",
        "SORT BY",
    ]
    assert [one["where"] for one in counted["blockers"]] == [
        {"line": 5, "column": 38},
        {"line": 5, "column": 64},
        {"line": 5, "column": 87},
    ]
    main(["check", "--dialect", "flink", "--format", "sarif", "job.sql"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    lines = [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in results]
    assert lines == [4, 5, 5, 5]
    # A fix has the whole script, with one of its queries edited.
    fixed = [
        change["replacements"][0]["insertedContent"]["text"]
        for fix in results[0]["fixes"]
        for change in fix["artifactChanges"]
    ]
    written = (folder / "job.sql").read_text()
    assert fixed and not any("fixes" in one for one in results[1:])
    for text in fixed:
        assert len(text.splitlines()) == len(written.splitlines())
        other = [
            pair for pair in zip(text.splitlines(), written.splitlines(), strict=True) if len({*pair}) > 1
        ]
        assert [line for _, line in other] == [written.splitlines()[3]]


def test_a_dialect_that_is_none_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "--dialect", "flnk", "job.sql"])
    assert ended.value.code == 2 and "did you mean flink?" in capsys.readouterr().err
    (folder / "job.sql").write_text(f"-- dialect: flnk\n{SCRIPT}")
    assert main(["check", "job.sql"]) == 2
    assert "did you mean flink?" in capsys.readouterr().out


def test_a_corpus_line_has_its_statement_and_its_dialect(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        {"id": "a", "dialect": "flink", "statement": SCRIPT},
        {
            "id": "b",
            "dialect": "ksql",
            "statement": "CREATE STREAM o AS SELECT * FROM s EMIT CHANGES",
            "sql": "nothing",
            "streams": {"s": {"k": "int"}},
        },
    ]
    (folder / "c.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["check", "--corpus", "c.jsonl"]) == 2
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["query"] for one in found] == ["a/good", "a/bad", "a/counted", "b"]
    assert [one["verdict"] for one in found] == ["bounded", "unbounded", "invalid", "bounded"]


A = "CREATE TABLE a (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);\n"
GOOD, BAD = "SELECT k FROM a WHERE k = 'x'", "SELECT DISTINCT k FROM a"
FOLLOWED = {
    "replaced": (f"CREATE VIEW v AS {GOOD}; CREATE OR REPLACE VIEW v AS {BAD};", "unbounded"),
    "dropped and made": (f"CREATE VIEW v AS {GOOD}; DROP VIEW v; CREATE VIEW v AS {BAD};", "unbounded"),
    "dropped if there": (f"DROP VIEW IF EXISTS v; CREATE VIEW v AS {BAD};", "unbounded"),
    "only where it is not": (f"CREATE VIEW v AS {BAD}; CREATE VIEW IF NOT EXISTS v AS {GOOD};", "unbounded"),
    "dropped": (f"CREATE VIEW v AS {GOOD}; DROP VIEW v;", "v is dropped before"),
    "made twice": (f"CREATE VIEW v AS {GOOD}; CREATE VIEW v AS {BAD};", "v is declared more than once"),
    "altered": (f"CREATE VIEW v AS {GOOD}; ALTER VIEW v AS {BAD};", "v is changed by ALTER"),
    "renamed": (
        f"CREATE VIEW v AS {GOOD}; CREATE VIEW w AS {BAD}; DROP VIEW v; ALTER VIEW w RENAME TO v;",
        "v is",
    ),
    "changed below": (
        f"CREATE VIEW w AS {GOOD}; CREATE VIEW v AS SELECT * FROM w; CREATE OR REPLACE VIEW w AS {BAD};",
        "v reads w, which is dropped or changed after it",
    ),
    "of two schemas": (
        "CREATE TABLE d1.v (k INT); CREATE TABLE d2.v (k INT PRIMARY KEY);",
        "v is declared more than once",
    ),
    "views of two schemas": (
        f"CREATE VIEW d1.v AS {GOOD}; CREATE VIEW d2.v AS {BAD};",
        "v is declared more than once",
    ),
    "declared twice": ("CREATE TABLE v (k INT); CREATE TABLE v (k BOOLEAN);", "v is declared more than once"),
    "declared where it is": (
        "CREATE TABLE v (k INT); CREATE TABLE IF NOT EXISTS v (k BOOLEAN);",
        "unbounded",
    ),
    "not understood": (
        f"CREATE VIEW v AS {GOOD}; CREATE OR REPLACE VIEW v AS SELECT ((( FROM a;",
        "v is defined by a statement that is not understood",
    ),
    "like one with a key": (
        "CREATE TABLE w (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka');"
        " CREATE TABLE v (LIKE w);",
        # Rows of a table that changes are taken back.
        "never-final",
    ),
    "altered table": ("CREATE TABLE v (k INT); ALTER TABLE v ADD COLUMN w INT;", "v is changed by ALTER"),
}


@pytest.mark.parametrize(("text", "said"), FOLLOWED.values(), ids=FOLLOWED)
@pytest.mark.parametrize("dialect", ["flink", "spark", "postgres"])
def test_a_query_uses_the_definition_before_it(dialect: str, text: str, said: str) -> None:
    table = A if dialect == "flink" else A.replace(", WATERMARK FOR ts AS ts", "").replace("STRING", "TEXT")
    if dialect == "spark":
        table = table.replace("TEXT", "STRING").replace("TIMESTAMP(3)", "TIMESTAMP")
    sql = f"{table}{text}\nINSERT INTO o SELECT DISTINCT k FROM v;"
    report = check(sql, Catalog(()), dialect=dialect, query="o", suggest=False)
    if report.error is None:
        assert said in (report.verdict, report.final)
    else:
        assert report.error.message.startswith(said), report.error
        assert report.error.location is not None and report.error.location.line == 3


def test_only_a_named_catalog_completes_declarations(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    streams = "streams: {a: {columns: {k: string}, domains: {k: {values: [x, y]}}}}\n"
    (folder / "registry").mkdir()
    (folder / "registry" / "streams.yml").write_text(streams)
    (folder / "job.sql").write_text(f"{A}INSERT INTO o {BAD};\n")
    assert main(["check", "--dialect", "flink", "job.sql"]) == 1
    assert main(["check", "--dialect", "flink", "--catalog", "registry/streams.yml", "job.sql"]) == 0
    (folder / "job.sql").write_text(f"CREATE TABLE a WITH ('connector' = 'kafka');\nINSERT INTO o {BAD};\n")
    assert main(["check", "--dialect", "flink", "job.sql"]) == 2
    assert "the columns of a are not known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "domain"), [("int", {"min": 0, "max": 5}), ("timestamp", {"min": "2024-01-01"})]
)
def test_a_domain_of_another_type_is_refused(kind: str, domain: object) -> None:
    known = catalog_from_mapping({"a": {"columns": {"k": kind}, "domains": {"k": domain}}})
    report = check(f"{A}INSERT INTO o {BAD} WHERE k > 'a';", known, dialect="flink")
    assert isinstance(report.error, CatalogError)
    assert f"column k: the script declares it string, the catalog {kind}" in report.error.message


B = "CREATE TABLE b (k STRING, n INT, ts TIMESTAMP(3));\n"
WRONG = {
    "a watermark of no column": A.replace("FOR ts AS ts", "FOR tss AS tss"),
    "two columns but for case": A.replace("n INT", "K INT"),
    "another type than the catalog's": A,
}


@pytest.mark.parametrize("table", WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_refuses_the_queries_that_read_it_alone(table: str) -> None:
    catalog = Catalog(())
    if table == A:
        catalog = catalog_from_mapping(
            {"a": {"columns": {"k": "int"}, "domains": {"k": {"min": 1, "max": 2}}}}
        )
    sql = (
        f"{B}{table}CREATE VIEW v AS {GOOD};\nINSERT INTO far SELECT k FROM v;\n"
        f"INSERT INTO good SELECT k FROM b WHERE k = 'x';\n"
        f"INSERT INTO own WITH a AS (SELECT k FROM b) SELECT k FROM a;\n"
    )
    for query, verdict in {"v": "invalid", "far": "invalid", "good": "bounded", "own": "bounded"}.items():
        report = check(sql, catalog, dialect="flink", query=query, suggest=False)
        assert report.verdict == verdict, (query, report.error)
        if verdict == "invalid":
            assert isinstance(report.error, CatalogError)
            location = report.error.location
            assert location is not None and (location.line, location.column) == (2, 14)
            assert "CREATE TABLE a" in str(report.error)


FOLDED = ("spark", "ksql", "risingwave", "azure", "postgres")
EXACT = ("flink", "sqrl", "timeplus")
CASE = {
    "aliases": (
        "SELECT DISTINCT A.n FROM b a JOIN (SELECT k AS j, n FROM b) A ON a.k = A.j AND A.n IN (1, 2)",
        "the alias A is used twice",
    ),
    "columns": (
        "SELECT DISTINCT x FROM (SELECT n AS x, k AS X FROM b) q WHERE x IN (1, 2)",
        "the column x is ambiguous",
    ),
    "common tables": (
        "WITH v AS (SELECT n FROM b WHERE n IN (1, 2)), V AS (SELECT n FROM b) SELECT DISTINCT n FROM v",
        "WITH defines V twice",
    ),
}


@pytest.mark.parametrize(("sql", "said"), CASE.values(), ids=CASE)
@pytest.mark.parametrize("dialect", [*FOLDED, *EXACT])
def test_names_that_differ_in_case_are_one_where_the_dialect_folds(dialect: str, sql: str, said: str) -> None:
    catalog = catalog_from_mapping({"b": {"k": "string", "n": "int"}})
    report = check(sql, catalog, dialect=dialect, suggest=False)
    if dialect in FOLDED:
        assert report.error is not None and said in report.error.message
    else:
        assert (report.error, report.verdict) == (None, "bounded")


@pytest.mark.parametrize("dialect", [*FOLDED, *EXACT])
def test_tables_that_differ_in_case_take_no_other_verdicts(dialect: str) -> None:
    text = "TEXT" if dialect == "postgres" else "STRING"
    kind = "STREAM" if dialect == "ksql" else "TABLE"
    tables = f"CREATE {kind} t (k {text}); CREATE {kind} T (j INT, k {text}); CREATE {kind} u (n INT);"
    sql = f"{tables} INSERT INTO o SELECT DISTINCT n FROM u WHERE n IN (1, 2); INSERT INTO p SELECT k FROM t;"
    if dialect == "azure":
        sql = f"{tables} SELECT DISTINCT n INTO o FROM u WHERE n IN (1, 2); SELECT k INTO p FROM t;"
    assert check(sql, Catalog(()), dialect=dialect, query="o", suggest=False).verdict == "bounded"
    error = check(sql, Catalog(()), dialect=dialect, query="p", suggest=False).error
    assert error is not None and "t is declared more than once" in error.message
