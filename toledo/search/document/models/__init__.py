"""Models of whole documents."""

from toledo.search.document.models.kinds import (
    LIX,
    OVIX,
    BLEUModel,
    DocumentModel,
    LengthParity,
    LexicalConsistency,
    SemanticModel,
    TypeTokenRatio,
)
from toledo.search.document.models.semantic_space import SemanticSpace

__all__ = [
    "LIX",
    "OVIX",
    "BLEUModel",
    "DocumentModel",
    "LengthParity",
    "LexicalConsistency",
    "SemanticModel",
    "SemanticSpace",
    "TypeTokenRatio",
]
