"""Stream models: what a stream's next values may be, given its past."""
