"""From a bounded conjunction to the tables of its plan: keys, cells, extrema; and statements of such parts.

It imports the decision and the plan as data, and no tree.
"""
