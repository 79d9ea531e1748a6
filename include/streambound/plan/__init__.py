"""What to keep of each stream: the compact plan as data, how it is made, and its size.

The flat modules are the plan itself, which what prints, sizes and runs it reads: tables of joins (``model``,
``clock``, ``ending``), and the tree of operations above them (``flow``) with the conditions, widths and
reach of its nodes (``conditions``, ``exclusions``, ``widths``, ``frame_reach``). ``tables`` and ``trees``
make both. Nothing here holds a row.
"""
