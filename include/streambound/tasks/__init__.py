"""One partition to its summaries: what is computed beside the files, in DuckDB and over arrays.

What runs here knows nothing of Spark; whoever has the partitions summarised hands in their files.
"""
