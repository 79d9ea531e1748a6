"""The experiments of section 6: each configuration, run, policy and size, with confidence intervals."""
