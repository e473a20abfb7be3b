"""Outside formats, one module each."""
