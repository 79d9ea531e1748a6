"""The text of a script before names are resolved: what it declares, idioms, and the parts of a query.

It imports the model, expressions and the dialects, and nothing else of parse.
"""
