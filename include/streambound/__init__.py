"""streambound: decide before deployment whether a streaming query can run in bounded memory."""
