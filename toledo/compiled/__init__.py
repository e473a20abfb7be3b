"""Compiled code and the data structures that it shares."""
