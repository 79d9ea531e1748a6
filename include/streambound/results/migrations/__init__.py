"""Alembic's environment of the results database: ``env.py``, and one file a version of the schema."""
