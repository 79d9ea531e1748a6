"""From a bounded statement to the tree of what is evaluated of it, and how many rows each node keeps.

It imports the decision, the plan as data, and ``plan.tables`` for the leaves.
"""
