"""Results for people: HTML pages with tables and plots."""
