"""Accepted queries in the clothes of each dialect: spelt, quoted and wrapped as its users do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from sqlglot import expressions as exp

from streambound.query.dialects.languages import LANGUAGES
from streambound.query.dialects.tokens import trees

DIALECTS = (
    *(
        "spark",
        "flink",
        "sqrl",
        "ksql",
        "risingwave",
        "materialize",
        "feldera",
        "arroyo",
        "azure",
        "timeplus",
    ),
    *("postgres", "duckdb"),
)
POSTGRES = ("risingwave", "materialize", "arroyo", "postgres", "duckdb")
UNITS = {"MICROSECOND": 1, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6, "DAY": 86400 * 10**6}


@dataclass(frozen=True)
class Dressed:
    """A text in a dialect, and the name of the query in it that is meant; None where it is the only one."""

    text: str
    dialect: str
    query: str | None


def dressed(sql: str, dialect: str, r: Random, columns: Mapping[str, list[str]]) -> Dressed:
    """A query of Spark SQL in another dialect.

    Args:
        columns: of each relation, by its name.
    """
    (tree,) = trees(sql)
    return _Dressing(dialect, r, columns).whole(tree)


class _Dressing:
    def __init__(self, dialect: str, r: Random, columns: Mapping[str, list[str]]) -> None:
        self.dialect, self.r, self.columns = dialect, r, columns
        self.views: list[str] = []
        self.number = 0

    def name(self) -> str:
        self.number += 1
        return f"z{self.number}"

    def written(self, node: exp.Expr) -> str:
        return node.sql(dialect=LANGUAGES[self.dialect].dialect)

    def moment(self, kind: str, text: str) -> str:
        """A literal of a date or a timestamp."""
        if self.dialect == "azure":
            return f"CAST('{text}' AS {'date' if kind == 'DATE' else 'datetime2'})"
        spelt = [f"{kind} '{text}'", f"CAST('{text}' AS {kind})"]
        return self.r.choice([*spelt, f"'{text}'::{kind.lower()}"] if self.dialect in POSTGRES else spelt)

    def whole(self, tree: exp.Expr) -> Dressed:
        for select in list(tree.find_all(exp.Select)):
            self.select(select)
        for interval in list(tree.find_all(exp.Interval)):
            interval.replace(exp.Var(this=self.interval(interval)))
        for boolean in list(tree.find_all(exp.Boolean)):
            boolean.replace(exp.Var(this="TRUE" if boolean.this else "FALSE"))
        for literal in list(tree.find_all(exp.Cast)):
            kind = literal.to.sql(dialect="spark")
            literal.replace(exp.Var(this=self.moment(kind, literal.this.this)))
        text = self.written(tree)
        if self.r.random() < 0.3:
            name = self.name()
            text = f"WITH {name} AS ({text}) SELECT * FROM {name}"
        return self.wrapped(text)

    def interval(self, node: exp.Interval) -> str:
        unit = str(node.args["unit"]).upper().removesuffix("S")
        amount = int(node.this.this)
        spelt = [f"INTERVAL '{amount}' {unit}"]
        if self.dialect in ("spark", "feldera", "timeplus", "duckdb", "sqrl"):
            spelt += [f"INTERVAL {amount} {unit}", f"INTERVAL {amount} {unit}S"]
        if self.dialect in POSTGRES:
            spelt += [f"INTERVAL '{amount} {unit.lower()}s'", f"'{amount} {unit.lower()}'::interval"]
            total = amount * UNITS[unit]
            spelt.append(f"INTERVAL '{total // 10**6} seconds {total % 10**6} microseconds'")
        if self.dialect == "timeplus" and unit in ("SECOND", "MINUTE", "HOUR", "DAY"):
            spelt.append(f"{amount}{unit[0].lower()}")
        return self.r.choice(spelt)

    def select(self, select: exp.Select) -> None:
        tables = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])]
        for table in tables:
            if isinstance(table, exp.Table):
                table.replace(self.source(table))
        for identifier in select.find_all(exp.Identifier):
            if self.r.random() < 0.3 and identifier.name in {c for cs in self.columns.values() for c in cs}:
                identifier.set("quoted", True)
        self.join(select)
        self.difference(select)

    def source(self, table: exp.Table) -> exp.Expr:
        """A table, or something that has its rows."""
        r, alias, columns = self.r, table.alias or table.name, self.columns[table.name]
        how = r.random()
        if how < 0.4:
            return table.copy()
        shown = r.choice(["*", ", ".join(r.sample(columns, len(columns)))])
        inner = f"SELECT {shown} FROM {table.name}"
        if r.random() < 0.3:
            inner = f"SELECT * FROM ({inner}) {self.name()}"
        if how < 0.7:
            return exp.Var(this=f"({inner}) {r.choice(['AS ', ''])}{alias}")
        name = self.name()
        self.views.append(self.made("VIEW", name, inner))
        return exp.Var(this=f"{name} {r.choice(['AS ', ''])}{alias}")

    def join(self, select: exp.Select) -> None:
        """The whole condition in ON of the last of the tables, where there are several."""
        joins, where = select.args.get("joins") or [], select.args.get("where")
        if joins and where is not None and self.r.random() < 0.5 and not joins[-1].args.get("on"):
            joins[-1].set("kind", "INNER")
            joins[-1].set("on", where.this.copy())
            select.set("where", None)

    def difference(self, select: exp.Select) -> None:
        """``x <= y + INTERVAL`` as ``x - y <= INTERVAL`` and the like."""
        turned: dict[type[exp.Expr], Callable[..., exp.Expr]] = {
            **{exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE, exp.EQ: exp.EQ},
        }
        for node in list(select.find_all(*turned)):
            step = node.expression
            moved = isinstance(step, (exp.Add, exp.Sub)) and isinstance(step.expression, exp.Interval)
            if not moved or not isinstance(node.this, exp.Column) or self.r.random() < 0.4:
                continue
            length = step.expression.copy()
            if isinstance(step, exp.Sub):
                # x <= y - n says y - x >= n.
                made = turned[type(node)](
                    this=exp.Sub(this=step.this.copy(), expression=node.this.copy()), expression=length
                )
            else:
                made = type(node)(
                    this=exp.Sub(this=node.this.copy(), expression=step.this.copy()), expression=length
                )
            node.replace(made)

    def made(self, kind: str, name: str, query: str) -> str:
        r = self.r
        if self.dialect == "sqrl":
            return f"{name} := {query}"
        if self.dialect == "ksql":
            return f"CREATE {r.choice(['', 'OR REPLACE '])}STREAM {name} AS {query} EMIT CHANGES"
        words = {
            "risingwave": ["MATERIALIZED VIEW", "VIEW", "MATERIALIZED VIEW IF NOT EXISTS"],
            "materialize": ["MATERIALIZED VIEW", "VIEW"],
            "feldera": ["LOCAL VIEW", "MATERIALIZED VIEW", "VIEW"],
            "flink": ["TEMPORARY VIEW", "VIEW"],
            "spark": ["OR REPLACE TEMP VIEW", "VIEW", "OR REFRESH STREAMING TABLE"],
        }
        return f"CREATE {r.choice(words.get(self.dialect, [kind]))} {name} AS {query}"

    def wrapped(self, text: str) -> Dressed:
        """The text alone, or as it goes into a view, a sink or a table."""
        r, target = self.r, "zout"
        sinks = {
            "risingwave": f"CREATE SINK {target} AS {text} WITH (connector = 'kafka', topic.name = 'o')"
            " FORMAT PLAIN ENCODE JSON",
            "ksql": f"CREATE STREAM {target} WITH (KAFKA_TOPIC = 'o') AS {text} EMIT CHANGES",
            "flink": f"EXECUTE STATEMENT SET BEGIN INSERT INTO {target} {text}; END",
            "timeplus": f"CREATE MATERIALIZED VIEW zv INTO {target} AS {text}",
            "spark": f"CREATE OR REFRESH STREAMING TABLE {target} COMMENT 'x' AS {text}",
            "azure": f"WITH zw AS ({text}) SELECT * INTO {target} FROM zw",
        }
        forms = [text, f"INSERT INTO {target} {text}", self.made("VIEW", target, text)]
        if self.dialect in sinks and not (self.dialect == "azure" and text.startswith("WITH")):
            forms.append(sinks[self.dialect])
        last = r.choice(forms)
        whole = [*self.views, last]
        if r.random() < 0.3 and self.dialect != "azure":
            whole.insert(0, "SET 'x.y' = 'z'" if self.dialect in ("flink", "sqrl", "ksql") else "SET x = 1")
        text = ";\n".join(whole) + r.choice(["", ";", ";\n"])
        return Dressed(text, self.dialect, None)
