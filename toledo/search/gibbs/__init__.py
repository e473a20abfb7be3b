"""Gibbs sampling of derivations."""
