"""Search over whole documents."""
