"""n-gram language models: estimation, queries from compiled code, interpolation."""

from toledo.language_model.backoff import BackoffModel, NGrams
from toledo.language_model.estimate import estimate
from toledo.language_model.query import LanguageModel, Perplexity

__all__ = ["BackoffModel", "LanguageModel", "NGrams", "Perplexity", "estimate"]
