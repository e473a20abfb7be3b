"""`toledo combine`."""
