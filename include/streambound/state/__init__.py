"""What is kept while a plan runs: tables, their join, how states merge, and states as bytes.

It imports plans, and nothing that runs one: passes and drivers are above it.
"""
