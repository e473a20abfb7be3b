"""`toledo forest`."""
