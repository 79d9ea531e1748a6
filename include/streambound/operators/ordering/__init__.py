"""Rows in an order: ranks, and window functions over frames.

It imports ``operators.rows``, and aggregates for frames.
"""
