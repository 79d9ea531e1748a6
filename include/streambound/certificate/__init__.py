"""What a user can check for himself: witnesses to replay, suggested edits that were decided again."""
