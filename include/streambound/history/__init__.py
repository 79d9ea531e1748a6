"""Queries over partitioned history: which partitions are new, in what order, and what is folded into what.

What summarises partitions is handed in; this room knows nothing of Spark. ``evaluations`` go from one
partition to the next, the flat modules drive them, and ``inspection`` looks at a history without evaluating.
"""
