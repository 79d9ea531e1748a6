"""From SQL text and a stream catalog to the frozen query model.

``parse`` reads a text, ``dialects`` are how it may be written, ``expressions`` are what its conditions and
values mean, and ``computing`` is how DuckDB computes them. Flat are the model (``model``, ``statement``,
``ring``, ``operators``), the catalog with its types, histories and live sources, and the registry of queries.
"""
