"""OR within a SELECT and UNION of SELECTs: several conjunctions whose answers make one.

It imports the criterion.
"""
