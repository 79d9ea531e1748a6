"""Equijoins in k tuples of memory: which queries, the plan, and one pass over arrivals.

When a query's state is not bounded, or its window is larger than the memory there is, the most results for k
tuples of memory are what is left to ask for (Xie, Yang, Chen). ``policies`` say what to keep,
``nightly`` chooses among them, ``models`` and ``tables`` are what a policy knows of the streams, and
``kernels`` are the compiled loops.
"""
