"""What runs as an application of its own: queries of the registry, the caches' benchmark, Java's classes."""
