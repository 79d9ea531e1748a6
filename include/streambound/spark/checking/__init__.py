"""Spark's own queries, decided: the plan of a streaming DataFrame, classic or Connect, as one statement.

A plan is read into ``blocks`` by ``classic`` (the analysed plan of a JVM) or ``connect`` (what a client
sends), written by ``statement`` as Spark SQL over a catalog of its sources, and decided as any other query.
"""
