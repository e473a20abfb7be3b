"""`toledo tune`."""
