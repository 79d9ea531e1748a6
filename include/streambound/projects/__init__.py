"""Queries where people have them: a project's ``streambound.toml``, folders of scripts, dbt's manifest."""
