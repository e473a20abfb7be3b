"""Tokenizers of raw text, by name, and the one for each language.

Moses' rules suit languages that write spaces between words. Chinese and Japanese get theirs from sacreBLEU, and are
written without spaces again. SentencePiece learns pieces of words from the training text, for any language.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from toledo.errors import InputError, MissingExtraError
from toledo.files import read_whole
from toledo.settings import Meta, Named, Registry, Settings

ENGLISH = "en"
WITHOUT_BLANKS = ("bo", "dz", "km", "lo", "my", "th")  # and without a tokenizer of their own
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}")
_PIECE_BLANK = "\u2581"


@dataclass(frozen=True)
class Tokenizer(Settings):
    """Splits text into tokens separated by spaces, and joins them again."""

    def trained(self, texts: Iterable[str]) -> Tokenizer:
        """Return the tokenizer after it has learned from texts what it needs."""
        return self

    def tokenize(self, text: str, language: str) -> str:
        """Return the tokens of a text; the code of its language is empty if it is not known."""
        raise NotImplementedError

    def detokenize(self, words: list[str], language: str) -> str:
        """Return the text of tokens."""
        raise NotImplementedError

    def require_undo(self) -> None:
        """Refuse a tokenizer of target text whose tokens cannot be joined again."""


@dataclass(frozen=True)
class Blanks(Tokenizer):
    """Text that is tokenized already: words are separated by spaces."""

    def tokenize(self, text: str, language: str) -> str:
        """Return the text as it is."""
        return text

    def detokenize(self, words: list[str], language: str) -> str:
        """Return the words separated by spaces."""
        return " ".join(words)


@dataclass(frozen=True)
class Moses(Tokenizer):
    """The rules of the Moses scripts (sacremoses); those of English where the language is not known."""

    def tokenize(self, text: str, language: str) -> str:
        """Split off punctuation, except after abbreviations of the language."""
        return str(moses("MosesTokenizer", language or ENGLISH).tokenize(text, return_str=True, escape=False))

    def detokenize(self, words: list[str], language: str) -> str:
        """Join punctuation to words."""
        found = moses("MosesDetokenizer", language or ENGLISH).detokenize(words, return_str=True, unescape=False)
        return str(found)


@cache
def moses(kind: str, language: str) -> Any:
    """Return one of the classes of sacremoses for a language."""
    import sacremoses  # here, since its tables take long to load

    return getattr(sacremoses, kind)(lang=language)


@dataclass(frozen=True)
class Chinese(Tokenizer):
    """Each Chinese character is a word, as sacreBLEU's tokenizer zh has it."""

    def tokenize(self, text: str, language: str) -> str:
        """Split characters."""
        return str(_sacrebleu("zh")(text))

    def detokenize(self, words: list[str], language: str) -> str:
        """Join words without spaces, except between words of alphabets."""
        parts = groupby(words, key=lambda word: word.isascii())
        return "".join(
            Moses().detokenize(list(run), ENGLISH) if ascii_run else "".join(run) for ascii_run, run in parts
        )


@dataclass(frozen=True)
class Japanese(Chinese):
    """Words by MeCab, as sacreBLEU's tokenizer ja-mecab has them; an extra of sacreBLEU."""

    def tokenize(self, text: str, language: str) -> str:
        """Split words."""
        return str(_sacrebleu("ja-mecab")(text))


@dataclass(frozen=True)
class Korean(Tokenizer):
    """Morphemes by MeCab, as sacreBLEU's tokenizer ko-mecab has them, for source text; an extra of sacreBLEU."""

    def tokenize(self, text: str, language: str) -> str:
        """Split morphemes."""
        return str(_sacrebleu("ko-mecab")(text))

    def require_undo(self) -> None:
        """Refuse target text: where there were spaces between morphemes is lost."""
        remedy = "use moses or sentencepiece for the target text"
        raise InputError("the tokenizer ko-mecab cannot be undone", argument="target_tokenizer", remedy=remedy)


@cache
def _sacrebleu(name: str) -> Any:
    """Return a tokenizer of sacreBLEU."""
    from sacrebleu.metrics.bleu import BLEU

    try:
        return BLEU(tokenize=name).tokenizer
    except (ImportError, RuntimeError):
        extra = name.partition("-")[0]
        raise MissingExtraError(
            f"the tokenizer {name} needs MeCab",
            remedy=f'pip install "sacrebleu[{extra}]", or use sentencepiece: pip install "toledo-mt[sentencepiece]"',
        ) from None


@dataclass(frozen=True)
class PieceModel(Tokenizer):
    """A model of SentencePiece, as it is kept in its files."""

    content: bytes

    @cached_property
    def _processor(self) -> Any:
        return sentencepiece().SentencePieceProcessor(model_proto=self.content)

    def tokenize(self, text: str, language: str) -> str:
        """Split into pieces."""
        return " ".join(self._processor.encode(text, out_type=str))

    def detokenize(self, words: list[str], language: str) -> str:
        """Join pieces."""
        return "".join(words).replace(_PIECE_BLANK, " ").strip()


@dataclass(frozen=True)
class SentencePiece(Tokenizer):
    """Pieces of words, learned from the training text, or those of a model file of SentencePiece; an extra."""

    size: Annotated[int, Meta(ge=100, description="Number of pieces to learn, at most.")] = 8000
    model: Annotated[str, Meta(description="Model file to use instead of learning pieces.")] = ""

    def trained(self, texts: Iterable[str]) -> Tokenizer:
        """Learn pieces, or read the model file."""
        package = sentencepiece()
        if self.model:
            return _read_pieces(Path(self.model))
        content = io.BytesIO()
        package.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=content, vocab_size=self.size, hard_vocab_limit=False,
            character_coverage=1.0, minloglevel=2, num_threads=1,
        )  # fmt: skip
        return PieceModel(content.getvalue())

    def tokenize(self, text: str, language: str) -> str:
        """Refuse to tokenize before pieces are learned."""
        raise InputError(
            f"no tokenizer for {language or 'this language'} without a model of SentencePiece",
            remedy="train a translation model on raw text, which learns and keeps one",
        )


def _read_pieces(file: Path) -> PieceModel:
    found = PieceModel(read_whole(file))
    try:
        found.tokenize("", "")
    except RuntimeError:
        raise InputError("not a model of SentencePiece", file=file, remedy="name a file ending in .model") from None
    return found


def sentencepiece() -> Any:
    """Return the package, which is an extra."""
    try:
        import sentencepiece as package
    except ImportError:
        raise MissingExtraError(
            "the tokenizer sentencepiece needs a package", remedy='pip install "toledo-mt[sentencepiece]"'
        ) from None
    return package


TOKENIZERS: Registry[Tokenizer] = Registry(
    "tokenizer",
    {
        "moses": f"{__name__}:Moses",
        "zh": f"{__name__}:Chinese",
        "ja-mecab": f"{__name__}:Japanese",
        "ko-mecab": f"{__name__}:Korean",
        "sentencepiece": f"{__name__}:SentencePiece",
    },
)
_OWN = {"zh": "zh", "yue": "zh", "ja": "ja-mecab", **dict.fromkeys(WITHOUT_BLANKS, "sentencepiece")}


def make_tokenizer(language: str, named: Named[Tokenizer] | None = None) -> Tokenizer:
    """Return a tokenizer by name, or else the one for a language."""
    return _of_language(language) if named is None else TOKENIZERS.make(named)


@cache
def _of_language(language: str) -> Tokenizer:
    return TOKENIZERS.make(_OWN.get(language, "moses"))


def language_code(language: str | None, argument: str = "language") -> str:
    """Return the code of a language without its region, in lower case; an empty one if it is not known."""
    if not language:
        return ""
    code = re.split("[-_]", language.lower())[0]
    if not LANGUAGE_CODE.fullmatch(code):
        remedy = "give its ISO code, such as de"
        raise InputError(f"no language {language!r}", argument=argument, remedy=remedy)
    return code
