"""Compiled loops over arrays: a join in k tuples, and the most that any policy could keep of it."""
