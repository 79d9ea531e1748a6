"""What a condition or a value says: of its columns, of time, and what of it is not decided."""
