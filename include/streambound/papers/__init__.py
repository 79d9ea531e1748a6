"""The published criteria as printed, beside the product's own: one module a paper, each with its theorems."""
