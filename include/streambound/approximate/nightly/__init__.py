"""What past days say of policies: the nightly choice, how far its results are off, and advice on memory."""
