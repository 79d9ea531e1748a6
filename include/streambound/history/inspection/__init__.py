"""What a history is like before it is evaluated: what a run would refuse, rest on, and need of memory.

It imports the flat modules of ``history``.
"""
