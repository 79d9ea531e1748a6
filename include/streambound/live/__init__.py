"""A bounded query over growing folders, step by step: its state, what waits for an order, and its answers.

What finds files and hands over what they hold is ``spark.live``; this room knows nothing of Spark.
"""
