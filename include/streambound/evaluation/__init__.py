"""Answers on one machine: the definition, and the plan in one pass."""
