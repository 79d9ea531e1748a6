"""Queries over partitioned history: which partitions are new, in what order, and what is folded into what.

What summarises partitions is handed in; this room knows nothing of Spark.
"""
