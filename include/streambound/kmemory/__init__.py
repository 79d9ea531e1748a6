"""Unbounded equijoins in k tuples of memory: which queries, the plan, and one pass over arrivals."""
