"""Bounded queries over history on Spark; the only room that imports pyspark."""
