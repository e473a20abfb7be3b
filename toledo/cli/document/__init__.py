"""`toledo document`."""
