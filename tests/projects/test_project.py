"""``streambound.toml``: what it says, and what is said of one that cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streambound.errors import ProjectError
from streambound.projects.project import NAME, load_project, project_of
from streambound.projects.scripts import read_scripts


def project(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text(text)
    return folder / NAME


def written(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("SELECT A FROM S")


def test_the_nearest_project_is_found_upwards(tmp_path: Path) -> None:
    outer = project(tmp_path, 'dialect = "flink"')
    inner = project(tmp_path / "a" / "b", "")
    assert project_of(tmp_path / "a" / "x.sql") == load_project(outer)
    assert project_of(tmp_path / "a" / "b" / "c" / "x.sql") == load_project(inner)
    assert project_of(tmp_path / "a" / "b") == load_project(inner)
    assert project_of(tmp_path / ("x" * 300)) == load_project(outer)


def test_the_longest_path_says_the_dialect(tmp_path: Path) -> None:
    dialects = '{"jobs" = "ksql", "jobs/old" = "azure", "jobs/*/r*.sql" = "risingwave"}'
    found = load_project(project(tmp_path, f'dialect = "flink"\ndialects = {dialects}'))
    said = {
        "x.sql": "flink",
        "jobs/x.sql": "ksql",
        "jobs/deep/x.sql": "ksql",
        "jobs/old/x.sql": "azure",
        "jobs/old/r.sql": "risingwave",
        "jobsx/x.sql": "flink",
    }
    assert {name: found.dialect_of(tmp_path / name) for name in said} == said


def test_files_are_those_of_paths_without_what_is_excluded(tmp_path: Path) -> None:
    names = ["a.sql", "jobs/b.sql", "jobs/old/c.sql", "views/d.ksql", "views/d.txt", "z/e.sql"]
    names += [".git/f.sql", "target/g.sql", "node_modules/h.sql"]
    written(tmp_path, *names)
    whole = load_project(project(tmp_path, ""))
    assert [one.name for one in whole.queries()] == ["a", "jobs/b", "jobs/old/c", "views/d", "z/e"]
    assert [one.dialect for one in whole.queries()] == [None, None, None, "ksql", None]
    paths = 'paths = ["jobs", "v*/*.ksql", "none.sql"]\nexclude = ["jobs/old"]'
    found = load_project(project(tmp_path, paths)).queries()
    assert [one.name for one in found] == ["b", "d", "none"]
    assert "cannot be read" in str(found[-1].error)


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    written(tmp_path, "a/x.sql", "b/x.sql", "b/y.sql")
    found = read_scripts([tmp_path / "a", tmp_path / "b"])
    assert [one.name for one in found] == [str(tmp_path / "a" / "x"), str(tmp_path / "b" / "x"), "y"]


def test_a_file_of_another_language_is_not_read_as_sql(tmp_path: Path) -> None:
    written(tmp_path, "gen.py", "q.txt", "plain")
    script, text, plain, missing = read_scripts([tmp_path / n for n in ("gen.py", "q.txt", "plain", "x.py")])
    assert "this is a .py file, which is not read as SQL" in str(script.error)
    assert "call streambound.check(sql, catalog)" in str(script.error) and plain.error is None
    assert "accepted: files that end in .sql, .ksql, " in str(text.error)
    assert "No such file" in str(missing.error)


def test_a_comment_in_a_file_comes_before_what_is_said_of_it(tmp_path: Path) -> None:
    written(tmp_path, "x.sql")
    (tmp_path / "y.sql").write_text("-- dialect: azure\nSELECT A FROM S")
    found = load_project(project(tmp_path, 'dialect = "flink"')).queries()
    assert [one.dialect for one in found] == ["flink", None]


WRONG = {
    'catalogue = "x"': ("unknown key catalogue", "did you mean catalog?", 1),
    '# why\npaths = "jobs"': ("paths is", "a list of paths and patterns", 2),
    "paths = [1]": ("paths is", "a list of paths and patterns", 1),
    "catalog = 5": ("catalog is 5", "the path of a stream catalog", 1),
    r'catalog = "a\u0000b"': ("catalog is", "the path of a stream catalog", 1),
    r'paths = ["a\u0000b"]': ("paths is", "a list of paths and patterns", 1),
    r'dbt = {manifest = "a\u0000b"}': ("dbt is", "manifest", 1),
    'dialect = "flnk"': ("dialect: the dialect is flnk", "did you mean flink?", 1),
    '[dialects]\n"a" = "flnk"': ("dialects: the dialect is flnk", "did you mean flink?", 1),
    '[dialects]\n"a" = 1': ("dialects is", "a table of paths to dialects", 1),
    'errors = ["unbound"]': ("errors has unbound", "did you mean unbounded?", 1),
    'dialect = "flink"\n[dbt]\nmanifst = "x"': ("dbt is", "manifest", 2),
    "dbt = {}": ("dbt is", "manifest", 1),
    'dialect = "flink"\npaths = [': ("not valid TOML", "correct it at this place", None),
}


@pytest.mark.parametrize(("text", "said"), WRONG.items())
def test_what_is_not_understood_is_named_with_its_place(
    tmp_path: Path, text: str, said: tuple[str, str, int | None]
) -> None:
    with pytest.raises(ProjectError) as found:
        load_project(project(tmp_path, text))
    problem, accepted, line = said
    whole = str(found.value)
    assert problem in whole and accepted in whole and str(tmp_path / NAME) in whole
    location = found.value.location
    assert line is None or (location is not None and location.line == line)


KEYS = ("catalog", "dialect", "dialects", "paths", "exclude", "errors", "dbt", "select", "timeout")
VALUES = st.recursive(
    st.sampled_from(['"flink"', '"streams.yml"', '"unbounded"', "1", "true", "1.5", '""', "1979-05-27"]),
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda several: f"[{', '.join(several)}]")
        | st.dictionaries(st.sampled_from(["manifest", "select", "a"]), inner, max_size=2).map(
            lambda pairs: "{" + ", ".join(f"{k} = {v}" for k, v in pairs.items()) + "}"
        )
    ),
    max_leaves=4,
)


@given(said=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3))
def test_random_projects_are_taken_or_refused_by_key(
    tmp_path_factory: pytest.TempPathFactory, said: dict[str, str]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "drawn"
    file = project(folder, "\n".join(f"{key} = {value}" for key, value in said.items()))
    try:
        found = load_project(file)
    except ProjectError as error:
        assert any(key in error.message for key in said)
        assert error.accepted and error.location is not None
        return
    assert set(said) <= {"catalog", "dialect", "dialects", "paths", "exclude", "errors", "dbt"}
    assert found.dialect_of(folder / "x.sql") in (None, "flink")
