"""What is kept while a plan runs: tables, their join, how states merge, and states as bytes.

It imports plans, and nothing that runs one: engines and drivers are above it.
"""
