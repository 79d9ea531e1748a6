"""A bounded query over growing folders of files: its plan as a Spark Structured Streaming query.

Spark's file source finds the files, tasks make of each what the plan keeps (as for a partition of history),
``transformWithState`` goes on from the state before, and each micro-batch writes its new answers.
"""
