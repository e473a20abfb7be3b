"""Decision rules: one translation from a distribution over translations."""
