"""What a conjunction of comparisons implies: closure, satisfiability, zones, order in time."""
