"""SELECTs over streams alone to the model: blocks, their unions, and the relations that sub-queries give.

It imports ``query.parse.text``.
"""
