"""A built-in sample corpus: an invented language and English, generated from a seed."""
