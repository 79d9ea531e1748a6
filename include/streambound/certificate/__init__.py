"""What a user can check for himself: suggested edits that were decided again."""
