"""Models of whole documents."""
