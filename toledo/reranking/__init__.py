"""Features of whole translations: lists of what a search found are scored again by what the search cannot see."""
