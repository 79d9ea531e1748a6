"""Caches of limited memory over stochastic streams (Xie, Yang, Chen).

When a query's state is not bounded, the most results for k tuples of memory are what is left to ask for.
``problems`` states the two problems, ``policies`` holds one policy a module, ``simulation`` runs them.
"""
