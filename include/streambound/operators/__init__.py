"""What is done to rows that change: groups, ranks, frames, guards, versions; what is computed of a row.

``factory`` gives the operator of a node. Flat are those that take each row by itself; the rest has sub-rooms.
"""
