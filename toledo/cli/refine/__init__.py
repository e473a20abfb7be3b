"""`toledo refine`."""
