"""Beam search with cube pruning, and forced decoding."""
