"""Deciding a query within a time and a memory: in a process that is ended when they are over.

What people write may take long to decide, or be built to exhaust whoever reads it. ``examiner`` starts the
process and waits for its answer; ``__main__`` is what runs in it.
"""
