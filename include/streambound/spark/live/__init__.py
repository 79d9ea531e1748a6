"""A bounded query over streams that go on: its plan as a Spark Structured Streaming query.

Spark follows the sources (folders that grow, or any of its own), tasks make of what arrives what the plan
keeps (as of a partition of history), ``transformWithState`` goes on from the state before, and each
micro-batch writes its new answers.
"""
