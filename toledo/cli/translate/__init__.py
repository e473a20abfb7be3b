"""`toledo translate`."""
