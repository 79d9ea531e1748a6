"""The pages of reference that the code itself says: ``python -m scripts.reference``.

Commands from their parsers, codes from their declarations, Python from its docstrings, DAGs and the API of
the pages from Airflow, and the catalog as a page and as a JSON Schema, by which editors complete a
``streams.yml``. Tests compare the files with what would be written.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import streambound
from scripts.imports import ROOT
from streambound.boundedness.criterion.reason_codes import REASON_CODES
from streambound.cli import _parser
from streambound.query import catalog, histories, live_sources
from streambound.query.model import TICKS, RelationKind
from streambound.query.type_names import ACCEPTED
from streambound.report.code_pages import errors, meaning

FOLDER = ROOT / "docs" / "reference"
SCHEMA = FOLDER / "streams.schema.json"
MADE = "<!-- Made by `python -m scripts.reference`; change the code instead. -->"
WIDTH = 118

TEXT, LIST_OF_TEXT = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
POSITIVE = {"type": "integer", "minimum": 1}
SCALAR = {"type": ["string", "number", "boolean", "null"]}
DURATION = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s+(second|minute|hour|day)s?\s*$"}
DOMAIN = {
    "type": "object",
    "properties": {"min": SCALAR, "max": SCALAR, "values": {"type": "array", "items": SCALAR, "minItems": 1}},
    "additionalProperties": False,
}
COUNTED = {name: {"type": "integer", "minimum": 0} for name in catalog.COUNTED}
OBSERVED = {**DOMAIN, "properties": {**DOMAIN["properties"], **COUNTED}}  # type: ignore[dict-item]
OPTIONS = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}


def _map(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _closed(properties: Mapping[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


HISTORY: dict[str, tuple[str, dict[str, Any]]] = {
    "path": ("The folder of the files, below the streams' folder, or an address.", TEXT),
    "partition_by": ("What the folders `KEY=VALUE` are named by, such as `date`.", TEXT),
    "format": ("What the files are.", {"enum": list(histories.FORMATS)}),
    "table": ("Instead of a path: a table or view that a Spark session finds.", TEXT),
}
LIVE: dict[str, tuple[str, dict[str, Any]]] = {
    "format": ("A source of Spark's, such as `kafka`, `json`, `delta`, `rate`.", TEXT),
    "options": ("That source's own; `${NAME}` is an environment variable.", OPTIONS),
    "value": (
        "What a payload is, and where.",
        _closed(
            {
                "format": {"enum": list(live_sources.PAYLOADS)},
                "column": TEXT,
                "options": OPTIONS,
                "schema": TEXT,
                "schema_id": {"type": "integer", "minimum": 0},
            },
            ["format"],
        ),
    ),
    "columns": ("Where a column is, with dots for what lies within.", _map(TEXT)),
    "epoch": ("What numbers in timestamp columns count since 1970.", {"enum": list(live_sources.EPOCHS)}),
    "lateness": (
        "How far behind its latest row the source may still be.",
        {"anyOf": [DURATION, {"type": "integer", "minimum": 0}]},
    ),
    "late": ("Rows that come later still.", {"enum": [live_sources.REFUSE, live_sources.DROP]}),
    "malformed": ("Rows that cannot be decoded.", {"enum": [live_sources.REFUSE, live_sources.DROP]}),
}
# Of every key what it says, whether rows are held to it, and what it may be.
KEYS: dict[str, tuple[str, dict[str, Any]]] = {
    "description": ("For people.", TEXT),
    "kind": (
        "`stream` (default) never ends; `finite` does; `static` is a table that stays; `versioned` keeps the "
        "latest row of each `primary_key`.",
        {"enum": [kind.value for kind in RelationKind]},
    ),
    "columns": ("Names and types.", {"type": "object", "additionalProperties": TEXT, "minProperties": 1}),
    "timestamp": ("The column that is the time of the event: a timestamp, or whole ticks.", TEXT),
    "granularity": ("*Promise*: every timestamp is a whole one of these, in UTC.", {"enum": list(TICKS)}),
    "not_null": ("*Promise*: these columns are never NULL.", LIST_OF_TEXT),
    "domains": ("*Promise*: by column its values, as `{min, max}` or `{values: [...]}`.", _map(DOMAIN)),
    "cardinality": ("*Promise*: at most so many different values, nobody knows which.", _map(POSITIVE)),
    "max_rows_per_timestamp": ("*Promise*: at most so many rows at one timestamp.", POSITIVE),
    "rate": (
        "*Promise*: at most so many rows in each interval.",
        _closed(
            {"rows": POSITIVE, "per": {"anyOf": [TEXT, POSITIVE]}},
            ["rows", "per"],
        ),
    ),
    "times": (
        "*Promise* of a second time column: never before the timestamp, at most so long after.",
        _map(_closed({"after": TEXT, "within": {"anyOf": [TEXT, POSITIVE]}}, ["after", "within"])),
    ),
    "allowed_lateness": ("How late a row may come.", DURATION),
    "observed": ("What rows had once: numbers for suggestions, and no promise.", _map(OBSERVED)),
    "primary_key": ("Of a versioned relation: its key.", {**LIST_OF_TEXT, "minItems": 1}),
    "history": ("Where past rows are.", _closed({name: form for name, (_, form) in HISTORY.items()})),
    "live": (
        "Where rows come from that are still to come.",
        _closed({n: f for n, (_, f) in LIVE.items()}, ["format"]),
    ),
}


def schema() -> dict[str, Any]:
    """What a ``streams.yml`` may say, as a JSON Schema; the loader says more, such as that a "
    "column is there."""
    assert set(KEYS) == set(catalog.RELATION_KEYS) and set(HISTORY) == set(histories.HISTORY_KEYS)
    assert set(LIVE) == set(live_sources.LIVE_KEYS)
    described = {name: {**form, "description": _plain(said)} for name, (said, form) in KEYS.items()}
    for name, below in (("history", HISTORY), ("live", LIVE)):
        described[name]["properties"] = {n: {**f, "description": _plain(s)} for n, (s, f) in below.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The stream catalog of streambound",
        "type": "object",
        "required": ["streams"],
        "additionalProperties": False,
        "properties": {
            "streams": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {
                    # The long form first, so that editors complete its keys.
                    "anyOf": [
                        {
                            "type": "object",
                            "properties": described,
                            "required": ["columns"],
                            "additionalProperties": False,
                        },
                        {
                            "type": "object",
                            "description": "The short form: columns and their types alone.",
                            "minProperties": 1,
                            "additionalProperties": {"type": "string"},
                        },
                    ]
                },
            }
        },
    }


def _plain(said: str) -> str:
    return said.replace("*", "").replace("`", "")


def _form(form: Mapping[str, Any]) -> str:
    """What a value may be, in a few words."""
    if form is DURATION:
        return "a duration, such as `2 days`"
    if "enum" in form:
        return ", ".join(f"`{value}`" for value in form["enum"])
    if "anyOf" in form:
        return " or ".join(map(_form, form["anyOf"]))
    if form["type"] == "array":
        return "a list of columns"
    if form["type"] == "object":
        if "properties" in form:
            return "a mapping with " + ", ".join(f"`{name}`" for name in form["properties"])
        return "a mapping of names to " + _form(form["additionalProperties"])
    kinds: list[str] = form["type"] if isinstance(form["type"], list) else [form["type"]]
    words = {"string": "text", "integer": "a whole number", "boolean": "true or false", "number": "a number"}
    return ", ".join(words[kind] for kind in kinds) + (
        f" from {form['minimum']}" if "minimum" in form else ""
    )


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *body = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body)]


def _wrapped(text: str) -> list[str]:
    """Prose in lines of the width of all prose."""
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def catalog_page() -> str:
    """The catalog's keys, and how editors complete them."""
    rows = [(f"`{name}`", said, _form(form)) for name, (said, form) in KEYS.items()]
    doc = inspect.getdoc(catalog) or ""
    example = doc.split("::\n\n", 1)[1].split("\n\nIn the short form")[0]
    lines = [MADE, "", "# The catalog", ""]
    lines += _wrapped(
        "A file `streams.yml` says which streams and tables there are. What it promises is what "
        "verdicts rest on, and "
        "every row that is read is held to it ([promises](../reference.md#the-catalog))."
    )
    lines += ["", "```yaml", *(line.removeprefix("    ") for line in example.split("\n")), "```", ""]
    lines += _wrapped(
        "In the short form a relation is its columns alone, `{A: int, ts: timestamp}`; the "
        "timestamp is then the only "
        f"column of type `timestamp`. Types are {ACCEPTED}."
    )
    lines += ["", "## Keys of a relation", "", *_table([("key", "what", "value"), *rows])]
    for name, below in (("history", HISTORY), ("live", LIVE)):
        lines += ["", f"## Keys of `{name}`", ""]
        lines += _table([("key", "what", "value"), *((f"`{n}`", s, _form(f)) for n, (s, f) in below.items())])
    lines += ["", "## Completion in the editor", ""]
    lines += _wrapped(
        "[streams.schema.json](streams.schema.json) is the same as a JSON Schema. Editors with a "
        "YAML language server "
        "(VS Code with the YAML extension, Neovim, JetBrains) complete and check a catalog that "
        "begins with this line, "
        "with the path or address of the file:"
    )
    lines += ["", "```yaml", "# yaml-language-server: $schema=PATH/streams.schema.json", "```", ""]
    return "\n".join(lines)


def _parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that does something, by its words."""

    def below(words: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
        subs = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if not subs:
            yield words, parser
        for sub in subs:
            for name, chosen in sub.choices.items():
                yield from below(f"{words} {name}", chosen)

    yield from below("streambound", _parser())


def _said(action: argparse.Action) -> tuple[str, str]:
    value = action.metavar or (
        "" if action.nargs == 0 else "{" + "\\|".join(map(str, action.choices or [])) + "}"
    )
    if action.nargs == 0:
        value = ""
    elif value == "{}":
        value = action.dest.upper()
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{value}`"
    shown = f" `{value}`" if value and action.option_strings else ""
    said = (action.help or "").replace("%%", "%")
    return names + shown.replace("\\|", "|"), said


def commands_page() -> str:
    """Every command with its options."""
    lines = [MADE, "", "# Commands", ""]
    lines += _wrapped(
        "Exit codes: 0 done (`check`: every query is bounded), 1 done with findings, 2 invalid "
        "input, 3 an outside part "
        "is missing or failed. `streambound COMMAND --help` says what is here. Details, and what "
        "is printed as JSON, "
        "are in [the whole reference](../reference.md)."
    )
    for words, parser in _parsers():
        said = (parser.description or "").strip()
        lines += ["", f"## {words}", "", *_wrapped(f"{said[:1].upper()}{said[1:]}."), ""]
        actions = [a for a in parser._actions if not isinstance(a, argparse._HelpAction)]
        lines += _table([("option", "what"), *map(_said, actions)])
    return "\n".join([*lines, ""])


def codes_page() -> str:
    """Every code with its sentence."""
    lines = [MADE, "", "# Codes in one table", ""]
    lines += _wrapped("Each code has a page with an example and a fix ([overview](../codes/README.md)).")
    fixes = {
        **{code: REASON_CODES[code].fix for code in REASON_CODES},
        **dict.fromkeys(errors(), "see its message"),
    }
    rows = [(f"[{code}](../codes/{code}.md)", meaning(code), fix) for code, fix in fixes.items()]
    return "\n".join([*lines, "", *_table([("code", "what was found", "what to do"), *rows]), ""])


def python_page() -> str:
    """What ``import streambound`` offers."""
    lines = [MADE, "", "# Python", ""]
    lines += _wrapped(
        "`import streambound` offers the command line's work, typed. What the lint does needs no "
        "further package."
    )
    example = (inspect.getdoc(streambound) or "").split("\n\n", 1)[1]
    lines += ["", "```python", *example.split("\n"), "```"]
    for name in streambound.__all__:
        found = getattr(streambound, name)
        lines += ["", f"## streambound.{name}", "", "```python", *_signature(name, found), "```", ""]
        lines += _prose(inspect.getdoc(found) or "")
    lines += ["", "`streambound.spark` checks DataFrames: [DataFrames of Spark](../spark.md).", ""]
    return "\n".join(lines)


def _signature(name: str, found: Any) -> list[str]:
    """A function's signature, without the quotes that postponed annotations have."""
    signature = inspect.signature(found)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    parts = [
        re.sub(r"^(\w+)(?:=(.*))?$", rf"\1: {p.annotation}" + (r" = \2" if "=" in str(b) else ""), str(b))
        for p, b in zip(signature.parameters.values(), bare, strict=True)
    ]
    end = f") -> {signature.return_annotation}"
    line = f"{name}({', '.join(parts)}{end}"
    return [line] if len(line) <= 100 else [f"{name}(", *(f"    {part}," for part in parts), end]


def _prose(doc: str) -> list[str]:
    """A docstring as Markdown: sections become words in bold, code is marked as such."""
    found, (text, *examples) = list[str](), doc.replace("``", "`").split("\n>>> ", 1)
    for line in text.split("\n"):
        if re.fullmatch(r"(Args|Raises|Returns|Yields):", line):
            found += [f"**{line[:-1]}**", ""]
        elif match := re.match(r"    (\*{0,2}\w+): (.*)", line):
            found.append(f"- `{match[1]}`: {match[2]}")
        elif line.startswith("        "):
            found.append(f"  {line.strip()}")
        else:
            found.append(line)
    return found + [line for example in examples for line in ("```python", f">>> {example}", "```")]


def dags_page(parsed: Mapping[str, Any]) -> str:
    """The DAGs as Airflow has parsed them.

    Args:
        parsed: what ``tests/dags/probe.py`` prints of the folder ``dags``.
    """
    lines = [MADE, "", "# DAGs", ""]
    lines += _wrapped("As Airflow parses them. [The DAGs](../airflow.md) says what each does.")
    rows = [("DAG", "runs", "reads assets", "emits assets")]
    for name, dag in sorted(parsed.items()):
        tasks = dag["tasks"].values()
        reads = sorted({asset for task in tasks for asset in task["inlets"]})
        emits = sorted({asset for task in tasks for asset in task["outlets"]})
        rows.append((f"`{name}`", _when(dag), _codes(reads), _codes(emits)))
    lines += ["", *_table(rows)]
    for name, dag in sorted(parsed.items()):
        retries = max(task["retries"] for task in dag["tasks"].values())
        lines += ["", f"## {name}", ""]
        lines += _wrapped(
            f"Owner {dag['owner']}; tags {', '.join(dag['tags'])}; {dag['max_active_runs']} active "
            f"run; {retries} "
            f"retries; catches up: {'yes' if dag['catchup'] else 'no'}; tasks: {_codes(dag['tasks'])}."
        )
        params = [(f"`{p}`", form["title"], form["description"] or "") for p, form in dag["params"].items()]
        lines += ["", *_table([("parameter", "in the form", "what"), *params])]
    return "\n".join([*lines, ""])


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def _when(dag: Mapping[str, Any]) -> str:
    """When a DAG runs: at an hour, when assets are emitted, by hand."""
    hour = dag["next_run"] and f"{dag['next_run'][11:16]} UTC"
    assets = sorted(set(re.findall(r"name='([^']+)'", dag["waits_for"])))
    parts = [f"when emitted: {_codes(assets)}"] if assets else []
    return "; ".join([*([hour] if hour else []), *parts]) or "by hand"


def http_page(document: Mapping[str, Any]) -> str:
    """The API behind the pages in Airflow.

    Args:
        document: its OpenAPI document.
    """
    lines = [MADE, "", "# The API of the pages", ""]
    lines += _wrapped(
        "Addresses are below Airflow's own `/streambound`; the same as an OpenAPI document is at "
        "`api/v1/openapi.json`. Requests take Airflow's authentication, and errors are "
        "[one object](../pages.md#the-api)."
    )
    for address, operations in document["paths"].items():
        for method, told in operations.items():
            lines += [
                "",
                f"## {method.upper()} {address}",
                "",
                *_wrapped(told.get("description", told["summary"])),
            ]
            rows = [
                (f"`{one['name']}`", one["in"], _values(one["schema"]), one.get("description", ""))
                for one in told.get("parameters", [])
            ]
            body = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if body is not None:
                named = document["components"]["schemas"][body["$ref"].split("/")[-1]]
                rows += [
                    (f"`{name}`", "body", _values(form), form.get("description", ""))
                    for name, form in named["properties"].items()
                ]
            if rows:
                lines += ["", *_table([("parameter", "in", "value", "what"), *rows])]
            codes = [f"{code} {answer['description']}" for code, answer in sorted(told["responses"].items())]
            lines += ["", *_wrapped(f"Answers: {', '.join(codes)}.")]
    return "\n".join([*lines, ""])


def _values(form: Mapping[str, Any]) -> str:
    """What a parameter may be: its type or values, its limits, its default."""
    if "anyOf" in form:
        found = " or ".join(_values(one) for one in form["anyOf"] if one.get("type") != "null")
    elif "enum" in form:
        found = ", ".join(f"`{value}`" for value in form["enum"])
    else:
        found = str(form.get("type", "object"))
        ends = [form.get("minimum", form.get("minLength")), form.get("maximum", form.get("maxLength"))]
        if ends[1] is not None:
            what = " characters" if found == "string" else ""
            found += f", {ends[0] or 0:,} to {ends[1]:,}{what}"
    default = form.get("default")
    return found if default in (None, "") else f"{found}; default `{json.dumps(default)}`"


def of_airflow() -> tuple[dict[str, Any], dict[str, Any]]:
    """What Airflow makes of the folder ``dags``, in a home of its own; and the pages' OpenAPI document."""
    asked = "import json; from streambound_airflow.pages.application import application as made"
    with tempfile.TemporaryDirectory() as home:
        paths = [str(ROOT / "plugins"), str(ROOT / "include"), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "AIRFLOW_HOME": home,
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "PYTHONPATH": os.pathsep.join(paths),
        }

        def printed(*command: str) -> str:
            done = subprocess.run(
                [sys.executable, *command], env=environment, capture_output=True, text=True, check=True
            )
            return done.stdout.splitlines()[-1]

        printed("-m", "airflow", "db", "migrate")
        parsed = json.loads(printed(str(ROOT / "tests" / "dags" / "probe.py"), str(ROOT / "dags")))
        document: dict[str, Any] = json.loads(printed("-c", f"{asked}; print(json.dumps(made().openapi()))"))
    return parsed["dags"], document


def files() -> dict[str, str]:
    """The files that need no Airflow, by name, with their text."""
    return {
        "catalog.md": catalog_page(),
        "codes.md": codes_page(),
        "commands.md": commands_page(),
        "python.md": python_page(),
        SCHEMA.name: json.dumps(schema(), indent=1) + "\n",
    }


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    dags, document = of_airflow()
    for name, text in {**files(), "dags.md": dags_page(dags), "http.md": http_page(document)}.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
