"""The language server as an editor meets it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
import yaml
from lsprotocol import types
from tests.editor.client import COMMAND, ROOT, Client, editing

from streambound.cli import main
from streambound.compiler.report import check
from streambound.query.catalog import load_catalog

REGISTRY = ROOT / "include" / "registry"
(Q2,) = (REGISTRY / "queries").glob("q2*.sql")
SLOW = (sys.executable, str(Path(__file__).with_name("slow_judge.py")), "lsp")
CATALOG = "streams:\n  S: {columns: {A: int, B: int}}\n  T: {columns: {D: int}}\n"
UNBOUNDED = "SELECT DISTINCT A FROM S, T WHERE B < D"
BOUNDED = "SELECT DISTINCT A FROM S, T WHERE B < D AND A BETWEEN 11 AND 19"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.yml").write_text(CATALOG)
    return tmp_path


def with_client(
    folder: Path, talk: Callable[[Client], Awaitable[None]], *options: str, command: Sequence[str] = COMMAND
) -> None:
    async def run() -> None:
        async with editing(folder, *options, command=command) as client:
            await talk(client)

    asyncio.run(run())


def codes(marks: Sequence[types.Diagnostic]) -> list[str | int | None]:
    return [mark.code for mark in marks]


def test_the_diagnostics_of_q2_and_a_fix_that_makes_it_bounded() -> None:
    async def talk(client: Client) -> None:
        uri = client.open(Q2, "sql")
        marks = await client.marks(uri)
        assert codes(marks) == ["unbounded-projection", "unbounded-equality"]
        assert [client.marked(uri, mark) for mark in marks] == ["S.A", "S.A = T.D"]
        assert {mark.severity for mark in marks} == {types.DiagnosticSeverity.Error}
        before = client.texts[uri]
        said = await client.hover(uri, before.index("S.A"))
        assert said is not None and "unbounded" in said
        for mark in marks:
            assert all(mark in (fix.diagnostics or ()) for fix in await client.fixes(uri, mark))
        fix, *_ = await client.fixes(uri, marks[1])
        text = client.apply(fix)
        # All that was there is there still.
        assert text.startswith(before.rstrip()) and text != before
        assert await client.marks(uri) == []
        assert check(text, load_catalog(REGISTRY / "streams.yml")).verdict == "bounded"
        said = await client.hover(uri, text.index("S.A"))
        assert said is not None and "at most 2,000 units" in said and "keep the number of tuples" in said

    with_client(ROOT, talk)


# Strings of Python, with the mark between << and >>, and what the fix adds between [[ and ]].
WRITTEN = (
    '"SELECT DISTINCT <<A>> FROM S WHERE B < 5[[ AND {}]]"',
    "r'''\r\n  SELECT DISTINCT <<A>>\r\n  FROM S\r\n  WHERE B < 5[[\r\n    AND {}]]\r\n'''",
    "\"SELECT DISTINCT <<A>> FROM S \"\r\n  u'\\x57HERE B < 5[[ AND {}]] -- \\u2192\\n'",
    '"/* 😀 \\"é\\" */ SELECT \\\r\nDISTINCT <<A>> FROM S[[ WHERE {}]]"',
    '"SELECT DISTINCT <<S.`\\N{GREEK SMALL LETTER ALPHA}`>> FROM S[[ WHERE {}]]"',
)


def test_strings_of_a_python_file_stay_as_they_are_written(folder: Path) -> None:
    (folder / "streams.yml").write_text(CATALOG.replace("A: int", "A: int, α: int"))

    async def talk(client: Client) -> None:
        for number, written in enumerate(WRITTEN):
            await bounds_a_string(client, folder / f"job-{number}.py", written)

    with_client(folder, talk, "--catalog", "streams.yml")


async def bounds_a_string(client: Client, file: Path, written: str) -> None:
    """The mark of a query in a Python file, and its fix, which leaves all else of the string as it is."""
    added = "S.α BETWEEN 0 AND 999" if "ALPHA" in written else "S.A BETWEEN 0 AND 999"
    document = f"x = '😀'; spark.sql({re.sub(r'<<|>>', '', written)})\r\nspark.sql(f'SELECT {{x}}')\r\n"
    after = document.replace(written_addition(written), written_addition(written)[2:-2].replace("{}", added))
    text = document.replace(written_addition(written), "")
    uri = client.open(file, "python", text)
    mark, composed = await client.marks(uri)
    assert mark.code == "unbounded-projection"
    assert client.marked(uri, mark) == written.split("<<")[1].split(">>")[0]
    assert client.marked(uri, composed) == "f'SELECT {x}'"
    assert composed.severity is types.DiagnosticSeverity.Information
    assert "put together" in composed.message and await client.fixes(uri, composed) == []
    fix = next(one for one in await client.fixes(uri, mark) if one.title.startswith("bound S"))
    assert client.apply(fix) == after
    assert codes(await client.marks(uri)) == [None]
    said = await client.hover(uri, after.index("DISTINCT"))
    assert said is not None and f"bounded    {file.stem}" in said


def written_addition(written: str) -> str:
    """What is between [[ and ]], with them."""
    return written[written.index("[[") : written.index("]]") + 2]


def test_a_python_file_in_the_making_keeps_its_marks(folder: Path) -> None:
    async def talk(client: Client) -> None:
        uri = client.open(folder / "job.py", "python", f'spark.sql("{UNBOUNDED}")\n')
        assert codes(await client.marks(uri)) == ["unbounded-projection"]
        client.change(uri, f'spark.sql("{UNBOUNDED}"\n')
        client.change(uri, f'spark.sql("{BOUNDED}")\n')
        assert await client.marks(uri) == []
        assert [found.version for found in client.all_published] == [1, 3]

    with_client(folder, talk, "--catalog", "streams.yml")


def test_each_query_of_a_script_is_marked_and_told_by_itself(folder: Path) -> None:
    script = (
        "CREATE TABLE u (a INT) WITH ('connector' = 'kafka');\n"
        "INSERT INTO x\nSELECT DISTINCT a FROM u;\nINSERT INTO y SELECT a FROM u;\nSELECT nothing FROM u"
    )

    async def talk(client: Client) -> None:
        uri = client.open(folder / "script.sql", "sql", f"-- dialect: flink\n{script}")
        marks = await client.marks(uri)
        assert codes(marks) == ["unbounded-projection", "invalid-query"]
        assert [client.marked(uri, mark) for mark in marks] == ["a", "nothing"]
        text = client.texts[uri]
        for part, told in (("INTO x", "unbounded  script/x"), ("INTO y", "bounded    script/y")):
            said = await client.hover(uri, text.index(part))
            assert said is not None and told in said
        assert await client.hover(uri, text.index("CREATE")) is None
        (fix,) = [one for one in await client.fixes(uri, marks[0]) if one.title.startswith("bound u.a")]
        added = "SELECT DISTINCT a FROM u WHERE u.a BETWEEN 0 AND 999;"
        assert client.apply(fix) == text.replace("SELECT DISTINCT a FROM u;", added)
        assert codes(await client.marks(uri)) == ["invalid-query"]

    with_client(folder, talk)


def test_another_catalog_is_another_verdict(folder: Path) -> None:
    async def talk(client: Client) -> None:
        uri = client.open(folder / "q.sql", "sql", UNBOUNDED)
        assert codes(await client.marks(uri)) == ["unbounded-projection"]
        catalog = folder / "streams.yml"
        catalog.write_text(CATALOG.replace("B: int}", "B: int}, domains: {A: {min: 1, max: 3}}"))
        change = types.FileEvent(catalog.as_uri(), types.FileChangeType.Changed)
        client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
        assert await client.marks(uri) == []
        catalog.write_text("streams: [")
        client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
        (mark,) = await client.marks(uri)
        assert mark.code == "invalid-catalog" and "streams.yml" in mark.message

    with_client(folder, talk, "--catalog", "streams.yml")


def test_a_closed_document_has_no_marks(folder: Path) -> None:
    async def talk(client: Client) -> None:
        uri = client.open(folder / "q.sql", "sql", UNBOUNDED)
        assert await client.marks(uri)
        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        other = client.open(folder / "other.sql", "sql", BOUNDED)
        assert await client.marks(other) == []
        assert [found.diagnostics for found in client.all_published if found.uri == uri][-1] == ()

    with_client(folder, talk, "--catalog", "streams.yml")


def test_a_query_that_takes_long_is_unknown(folder: Path) -> None:
    columns = {f"c{i}": "int" for i in range(40)}
    (folder / "streams.yml").write_text(yaml.safe_dump({"streams": {name: columns for name in "ABCDE"}}))
    pairs = [f"{x}.c{i} < {y}.c{39 - i}" for x, y in ("AB", "BC", "CD", "DE") for i in range(40)]

    async def talk(client: Client) -> None:
        text = f"SELECT DISTINCT A.c1 FROM A, B, C, D, E WHERE {' AND '.join(pairs)}"
        uri = client.open(folder / "q.sql", "sql", text)
        (mark,) = await client.marks(uri)
        assert mark.code == "search-limit" and mark.severity is types.DiagnosticSeverity.Warning

    with_client(folder, talk, "--catalog", "streams.yml", "--timeout", "0.001")


def test_of_what_is_typed_quickly_only_the_last_text_is_decided(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        uri = client.open(tmp_path / "q.sql", "sql", "SELECT first")
        while not (tmp_path / "asked").exists():
            await asyncio.sleep(0.01)
        # The first is being decided; it is given up since it takes long.
        for number in range(50):
            client.change(uri, f"SELECT {number}")
        # An answer to this comes when all before it was read.
        assert await client.hover(uri, 0) is None
        (tmp_path / "go").touch()
        assert await client.marks(uri) == []
        asked = (tmp_path / "asked").read_text().splitlines()
        assert asked == ["SELECT first", "SELECT 49"]
        assert [found.version for found in client.all_published] == [51]

    with_client(tmp_path, talk, str(tmp_path), command=SLOW)


def test_a_decision_that_takes_long_is_given_up_for_a_newer_text(tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        uri = client.open(tmp_path / "q.sql", "sql", "SELECT first")
        while not (tmp_path / "asked").exists():
            await asyncio.sleep(0.01)
        client.change(uri, "SELECT second")
        while "second" not in (tmp_path / "asked").read_text():
            await asyncio.sleep(0.01)
        (tmp_path / "go").touch()
        assert await client.marks(uri) == []

    with_client(tmp_path, talk, str(tmp_path), command=SLOW)


def test_it_ends_when_the_editor_is_gone(folder: Path) -> None:
    library = os.pathsep.join([str(ROOT / "include"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        COMMAND, input=b"", timeout=60, check=False, env={**os.environ, "PYTHONPATH": library}
    )
    assert done.returncode == 0


def test_without_its_packages_it_says_which_extra(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    for name in [name for name in sys.modules if name.startswith(("pygls.", "streambound.editor."))]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["lsp"]) == 3
    error = capsys.readouterr().err
    assert "pygls" in error and error.strip().endswith("[lsp]'")
