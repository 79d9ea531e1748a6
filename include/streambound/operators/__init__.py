"""What is done to rows that change: groups, ranks, frames, guards, versions; what is computed of a row."""
