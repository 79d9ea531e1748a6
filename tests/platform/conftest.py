"""A PostgreSQL server for the tests of this folder."""

from tests.postgres import postgres

__all__ = ["postgres"]
