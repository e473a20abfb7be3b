"""The tuners: each finds weights for what a search has found so far."""
