"""What is made of rows: groups, HAVING, extrema, ranks and window functions.

It imports the criterion alone.
"""
