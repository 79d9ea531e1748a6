"""Names written out until FROM has only streams: views, sub-queries, joins, groups and ranks over each other.

It imports ``query.parse.text`` and ``query.parse.blocks``. Its modules call each other: sub-queries nest.
"""
