"""Work in rounds that can be interrupted: one loop, one history, one checkpoint."""
