"""What expressions over columns compute, in the words of the embedded engine."""
