"""Words, ids and encoded text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toledo.text.settings import Cleaning
    from toledo.text.tokens import Truecaser, clean, detokenize, escape, lowercase, normalize, tokenize, unescape

__all__ = ["Cleaning", "Truecaser", "clean", "detokenize", "escape", "lowercase", "normalize", "tokenize", "unescape"]


def __getattr__(name: str) -> Any:
    """Import the functions for users on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from toledo.text import settings, tokens

    return getattr(settings if name == "Cleaning" else tokens, name)
