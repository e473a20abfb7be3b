"""Words, ids and encoded text."""
