"""Verdicts while a query is written: a language server over what decides queries.

``texts`` finds the SQL in a document and says where each of its characters is written, ``positions`` counts
as editors do, ``server`` speaks the Language Server Protocol 3.17. What is shown is ``report.editor``'s.
"""
