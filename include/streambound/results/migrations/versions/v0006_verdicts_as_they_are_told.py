"""Of a verdict all that a check tells: final mode, the dialect, causes, what is not supported."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

TEXTS = ("final", "unplanned", "refused", "code", "dialect", "guessed")
LISTS = ("causes", "blockers", "assumes")


def upgrade() -> None:
    """Add the columns; of earlier verdicts they are not known."""
    for name in TEXTS:
        op.add_column("verdicts", sa.Column(name, sa.Text))
    for name in LISTS:
        op.add_column("verdicts", sa.Column(name, sa.JSON, nullable=False, server_default="[]"))
