"""A bounded query over streams that go on, step by step: its state, what waits for an order, and its answers.

What follows folders and other sources, and hands over what they hold, is ``spark.live``; this room imports
nothing of Spark.
"""
