"""Machine translation by expectation and consensus."""
