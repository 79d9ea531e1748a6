"""Joins that are not inner: EXISTS, NOT EXISTS, outer joins and as-of joins.

It imports the criterion, and ``unions`` for guards with OR.
"""
