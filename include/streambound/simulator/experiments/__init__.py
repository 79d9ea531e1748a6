"""Policies at work: on a trace of one's own, and in section 6's experiments with confidence intervals."""
