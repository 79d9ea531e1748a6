"""When is a query bounded? One criterion decides, with its theorem; the papers' own are in ``papers``.

``statements.decide`` is the entry. It asks ``criterion`` of one conjunction, ``unions`` of several, ``joins``
of those that are not inner, and ``aggregation`` of what is made of rows. Flat are sub-queries
(``composition``, ``unfolding``, ``ranges``, ``reflexive``), buckets of time, and
``limits`` of what is decided.
"""
