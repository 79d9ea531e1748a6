"""Which definition of a name stands at each statement of a script, and which names cannot be followed.

A query uses the definitions before it. A name that is defined once may be used before its definition too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import expressions as exp
from sqlglot.tokenizer_core import Token, TokenType

from streambound.errors import StreamboundError, UnsupportedError
from streambound.query.dialects.languages import Language
from streambound.query.dialects.statements import Written
from streambound.query.parse.text.parts import View
from streambound.query.scope import location_of

_KINDS = frozenset(("VIEW", "TABLE", "STREAM", "SOURCE", "SINK"))
_SPACES = frozenset(("DATABASE", "SCHEMA", "CATALOG", "NAMESPACE"))
# What ALTER may say without changing what a name stands for.
_HARMLESS = frozenset((("OWNER",), ("REPLICA",), ("SET", "PARALLELISM")))


@dataclass
class Definitions:
    """What the statements so far say of names; they are told in the order of the text."""

    language: Language
    # By full name, as the language folds it: the view, or None of a table.
    _now: dict[str, View | None] = field(default_factory=dict)
    # Full names by their last part in lower case.
    _full: dict[str, set[str]] = field(default_factory=dict)
    _dropped: set[str] = field(default_factory=set)
    # Last parts that cannot be followed, and why.
    unclear: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _often: set[str] = field(default_factory=set)

    def kept(self, written: Written, tokens: list[Token]) -> bool:
        """Whether a definition counts: not if the name is there, and it is made only where it is not."""
        words = [token.text.upper() for token in tokens[:10]]
        absent = any(words[i : i + 3] == ["IF", "NOT", "EXISTS"] for i in range(len(words)))
        return not (absent and written.name is not None and self._key(written.name) in self._now)

    def defined(self, written: Written, tokens: list[Token], view: View | None) -> None:
        """Note a view, or a table that is declared."""
        assert written.name is not None
        key, last = self._key(written.name), written.name.name.lower()
        text = tuple(token.text for token in tokens)
        before = self._texts.get(last)
        self._full.setdefault(last, set()).add(key)
        if before is not None and before != text:
            self._often.add(last)
            replaced = len(tokens) > 1 and tokens[1].text.upper() == "OR"
            if view is None or (key in self._now and (not replaced or self._now[key] is None)):
                self.unclear.setdefault(last, "is declared more than once")
            self._dependents(last)
        self._texts[last] = text
        self._now[key] = view
        self._dropped.discard(last)

    def passed(self, tokens: list[Token]) -> None:
        """Note what a statement that asks nothing takes away or changes."""
        words = [token.text.upper() for token in tokens]
        kind = next((i for i, word in enumerate(words[:6]) if word in _KINDS), None)
        if words[0] == "DROP" and any(word in _SPACES for word in words[1:2]):
            self._dropped |= {key.rsplit(".", 1)[-1].lower() for key in self._now}
            self._now.clear()
        elif kind is not None and words[0] == "DROP":
            start = kind + 1 + 2 * (words[kind + 1 : kind + 3] == ["IF", "EXISTS"])
            for name in _names(tokens[start:]):
                self._drop(name)
        elif kind is not None and (words[0] == "ALTER" or words[:3] == ["CREATE", "OR", "ALTER"]):
            start = kind + 1 + 2 * (words[kind + 1 : kind + 3] == ["IF", "EXISTS"])
            names = _names(tokens[start:])[:1]
            after = start + 2 * len(names[0]) - 1 if names else start
            if any(tuple(words[after : after + len(said)]) == said for said in _HARMLESS):
                return
            for i, word in enumerate(words[after:], start=after):
                if word in ("TO", "WITH"):
                    names += _names(tokens[i + 1 :])[:1]
            for name in names:
                self.unclear.setdefault(name[-1].text.lower(), "is changed by ALTER")
                self._dependents(name[-1].text.lower())

    def not_understood(self, tokens: list[Token]) -> None:
        """Note the name that a statement defines which is not understood otherwise."""
        words = [token.text.upper() for token in tokens]
        kind = next((i for i, word in enumerate(words[:8]) if word in _KINDS), None)
        if words[:1] != ["CREATE"] or kind is None or "SINK" in words[:8]:
            return
        start = kind + 1 + 3 * (words[kind + 1 : kind + 4] == ["IF", "NOT", "EXISTS"])
        for name in _names(tokens[start:])[:1]:
            last = name[-1].text.lower()
            self.unclear.setdefault(last, "is defined by a statement that is not understood")
            self._dependents(last)

    def _drop(self, name: list[Token]) -> None:
        key = ".".join(self.language.folded(t.text, t.token_type is TokenType.IDENTIFIER) for t in name)
        last = name[-1].text.lower()
        matching = [item for item in self._now if item.rsplit(".", 1)[-1].lower() == last]
        if key not in matching and len(matching) != 1:
            if matching:
                self.unclear.setdefault(last, "is dropped, and which one is not known")
            return
        del self._now[key if key in matching else matching[0]]
        if len(matching) == 1:
            self._dropped.add(last)
        self._dependents(last)

    def _dependents(self, last: str) -> None:
        """Views of a name that is no longer what it was: whether they change too depends on the engine."""
        for key, view in self._now.items():
            mine = key.rsplit(".", 1)[-1].lower()
            if view is not None and mine != last and last in {t.name.lower() for t in _tables(view.tree)}:
                self.unclear.setdefault(mine, f"reads {last}, which is dropped or changed after it")

    def state(self) -> State:
        """What stands now."""
        return State(dict(self._now), frozenset(self._dropped), dict(self.unclear))

    def views(self, state: State) -> dict[str, View]:
        """The views that a query at that place reads, by their full names and their last parts."""
        views: dict[str, View] = {}
        now = dict(state.now)
        for key, view in self._now.items():
            # What is defined once may be used before it.
            last = key.rsplit(".", 1)[-1].lower()
            if key not in now and last not in state.dropped and last not in self._often:
                now[key] = view
        for key, view in now.items():
            if view is not None:
                views[key] = view
                views.setdefault(key.rsplit(".", 1)[-1], view)
        return {key: view for key, view in views.items() if now.get(key, view) is not None}

    def refusal(
        self,
        tree: exp.Expr,
        state: State,
        views: Mapping[str, View],
        sql: str,
        wrong: Mapping[str, StreamboundError],
    ) -> StreamboundError | None:
        """Why the first name that a query reads, and that is wrong or cannot be followed, is refused."""
        waiting, seen = [tree], set()
        while waiting:
            here = waiting.pop()
            own = {cte.alias.lower() for cte in here.find_all(exp.CTE)}
            for table in _tables(here):
                last, key = table.name.lower(), self._key(table)
                if "." not in key and last in own:
                    continue
                if last in wrong:
                    return wrong[last]
                why = state.unclear.get(last)
                if last in state.dropped:
                    why = "is dropped before"
                elif last in self._often and not any(
                    item.rsplit(".", 1)[-1].lower() == last for item in state.now
                ):
                    why = why or "is declared more than once, and not before"
                if len(self._full.get(last, ())) > 1 and ("." not in key or key not in views):
                    why = "is declared more than once"
                if self.unclear.get(last) == "is declared more than once":
                    why = self.unclear[last]
                if why is not None:
                    return UnsupportedError(
                        f"{table.name} {why}: this is not supported yet",
                        location=location_of(table, sql),
                        accepted="one definition of each name that is read",
                    )
                view = views.get(key) or views.get(key.rsplit(".", 1)[-1])
                if view is not None and id(view) not in seen:
                    seen.add(id(view))
                    waiting.append(view.tree)
        return None

    def _key(self, name: exp.Table) -> str:
        return ".".join(self.language.folded(part.name, bool(part.args.get("quoted"))) for part in name.parts)


@dataclass(frozen=True)
class State:
    """What stands at a place of a text."""

    now: Mapping[str, View | None]
    dropped: frozenset[str]
    unclear: Mapping[str, str]


def tokens_of(written: Written, tokens: list[Token]) -> list[Token]:
    """The tokens of a statement."""
    return [token for token in tokens if written.first.start <= token.start <= written.last.start]


def _tables(tree: exp.Expr) -> Iterable[exp.Table]:
    return (table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier))


def _names(tokens: list[Token]) -> list[list[Token]]:
    """Dotted names with commas between them."""
    names: list[list[Token]] = []
    i = 0
    while i < len(tokens):
        name = [tokens[i]]
        while i + 2 < len(tokens) and tokens[i + 1].text == ".":
            name.append(tokens[i + 2])
            i += 2
        names.append(name)
        if i + 1 >= len(tokens) or tokens[i + 1].text != ",":
            break
        i += 2
    return names
