"""What is shown of rows: outputs and what was computed of several rows, or expressions over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from streambound.operators.rows.expressions import compiled
from streambound.query.column_types import Type, parse_type
from streambound.query.operators import Having, Shown

Row = tuple[Any, ...]
BOOLEAN = parse_type("boolean")


class Projection:
    """What is shown of rows.

    Args:
        outputs: the outputs of the block that the rows have, in their order, with their types.
        values: the types of what was computed, which follows the outputs in the rows.
        having: the rows of which it does not hold are not shown.
    """

    def __init__(
        self,
        shown: Sequence[Shown],
        outputs: Sequence[tuple[int, Type]],
        values: Sequence[Type],
        having: Having | None = None,
    ) -> None:
        positions = {f"o{number}": position for position, (number, _) in enumerate(outputs)}
        positions.update({f"v{number}": len(outputs) + number for number in range(len(values))})
        columns = [(f"o{number}", kind) for number, kind in outputs]
        columns += [(f"v{number}", kind) for number, kind in enumerate(values)]

        def of(column: Shown) -> Callable[[Sequence[Row]], Iterable[Any]]:
            if column.formula is not None:
                return compiled(column.formula, columns, column.type)
            position = positions[f"o{column.outputs[0]}" if column.outputs else f"v{column.values[0]}"]
            return lambda rows: [row[position] for row in rows]

        self._shown = [of(column) for column in shown]
        self._holds = None if having is None else compiled(str(having.formula), columns, BOOLEAN)

    def __call__(self, rows: Sequence[Row]) -> list[Row | None]:
        """What is shown of each row; None of one that is not."""
        if not rows:
            return []
        made = (
            list(zip(*(column(rows) for column in self._shown), strict=True))
            if self._shown
            else [()] * len(rows)
        )
        if self._holds is None:
            return list(made)
        return [row if passes else None for row, passes in zip(made, self._holds(rows), strict=True)]
