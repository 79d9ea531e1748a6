"""Histories on disk: partitions, what the footers of files promise, files that are whole or not at all."""
