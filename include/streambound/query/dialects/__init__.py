"""The SQL of stream processors: tokenizers and parsers, one module a family, on top of sqlglot's own.

``grammar`` adds what they share: where each node stands in the text, statements around queries
(``INSERT INTO``, ``CREATE ... AS``), declarations of tables, and the clauses that only streams have.
"""
