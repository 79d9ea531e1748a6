"""Catalogs from what is there: scripts, files and schemas as entries of a ``streams.yml``.

One module a kind of source makes ``Entry`` values; ``text`` writes them, or adds them to a file that a person
keeps. What a source does not say is told in comments. A library that only one source needs is loaded when
that source is read.
"""
