"""When is a query bounded? One criterion decides, with its theorem; the papers' own are in ``papers``."""
