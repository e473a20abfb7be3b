"""n-gram language models: estimation, queries from compiled code, interpolation."""

from toledo.language_model.backoff import BackoffModel, NGrams
from toledo.language_model.estimate import estimate
from toledo.language_model.interpolate import interpolate
from toledo.language_model.lines import LineScorer, LineScores
from toledo.language_model.mixture import tune_weights
from toledo.language_model.query import LanguageModel, Perplexity
from toledo.language_model.saving import load_language_model, save_language_model

__all__ = [
    "BackoffModel",
    "LanguageModel",
    "LineScorer",
    "LineScores",
    "NGrams",
    "Perplexity",
    "estimate",
    "interpolate",
    "load_language_model",
    "save_language_model",
    "tune_weights",
]
