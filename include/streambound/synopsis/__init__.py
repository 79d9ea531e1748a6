"""What to keep of each stream: the compact plan, its state, how states merge, and their size."""
