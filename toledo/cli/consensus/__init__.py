"""`toledo consensus`."""
