"""Of a quality each of its expectations, and of a stream how many different values its columns have."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns; of earlier outcomes they are not known."""
    for name, nothing in (("expectations", "[]"), ("observed", "{}")):
        op.add_column("quality", sa.Column(name, sa.JSON, nullable=False, server_default=nothing))
