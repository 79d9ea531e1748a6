"""What each operator is to those who run it, what is computed of a row, and when rows are over.

It imports plans, and no operator.
"""
