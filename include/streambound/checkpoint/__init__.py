"""Checkpoints: the state of a query at every partition boundary, in a Delta table of its own.

A table is found by query, its rows by plan fingerprint and partition. A row says what the boundary rests
on (the identities of the inputs, and a chain of digests of all before), what the plan keeps of the partition
and of all up to it, and what was answered. What a state is, this room does not know: bytes.
"""
