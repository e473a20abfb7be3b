"""n-gram language models: estimation, queries from compiled code, interpolation."""
