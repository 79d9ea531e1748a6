"""What is done to rows that change: groups, ranks, frames, guards, versions; and what is computed of a row."""
