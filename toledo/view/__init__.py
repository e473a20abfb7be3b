"""The one way to draw: parts of pages as functions from numbers and texts to HTML and SVG."""
