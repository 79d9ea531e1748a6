"""Rows of several inputs: joins, guards, as-of joins, and the different rows of a join.

It imports ``operators.rows``.
"""
