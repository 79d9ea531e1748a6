"""A package of that name, so that no installed distribution's ``tests`` takes its place."""
