"""What other engines keep of a query as it is written: per operator, how that grows, and what they refuse.

``model`` has the words, ``operators`` the operators of a statement, one module an engine and version its
rules, and ``state`` puts them together. Every rule says whether it was measured, and where it is documented.
"""

# Each is a module of this room.
ENGINES = ("spark", "flink", "risingwave", "materialize", "feldera", "ksqldb")
# The engine of a dialect, where it is called otherwise.
_CALLED = {"ksql": "ksqldb", "sqrl": "flink"}


def of_dialect(dialect: str | None) -> str | None:
    """The engine whose SQL a dialect is; None where there is none of the ones that are known."""
    name = _CALLED.get(dialect or "", dialect)
    return name if name in ENGINES else None
