"""Searches: from a sentence and a model to a forest of translations."""
