"""What a conjunction of comparisons implies: closure, satisfiability, zones, local orders."""
