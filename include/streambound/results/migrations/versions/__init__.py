"""One file a version, frozen as it was released: it says what to do, not what the schema is today."""
