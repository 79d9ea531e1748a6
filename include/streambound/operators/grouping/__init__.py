"""GROUP BY, also within windows and sessions, and what aggregates keep.

It imports ``operators.rows``.
"""
