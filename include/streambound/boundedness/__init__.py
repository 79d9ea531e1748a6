"""Criteria: can a query's state ever outgrow memory? One module a criterion, each with its theorem."""
