"""The criterion of one conjunction with its verdict, reasons and wording.

It imports ``query`` and ``constraints``, and nothing else of boundedness.
"""
