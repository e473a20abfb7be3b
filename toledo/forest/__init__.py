"""Forests: one search space, its exact expectations, one gradient."""
