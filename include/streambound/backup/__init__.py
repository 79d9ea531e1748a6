"""Registry, results, checkpoints and answers as one folder with digests, and put back from it."""
