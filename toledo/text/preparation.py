"""From raw text to the words of a model and back.

A model keeps what was done to each side of its training text: one form for each character, tokens, and the usual case
of words that begin a sentence. The same is done to text that it translates, and undone in its translations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.settings import Named
from toledo.text.characters import clean_characters, main_script, scripts
from toledo.text.rare_words import RareWords
from toledo.text.tokenizers import TOKENIZERS, Blanks, PieceModel, Tokenizer, language_code, make_tokenizer
from toledo.text.tokens import Truecaser, detruecase, escape_markup, looks_tokenized, raw_word, unescape
from toledo.text.vocabulary import Vocabulary, split_words

DECODER_MARKUP = re.compile(r"<\w+ (?:translation|prob)=\"[^\"<>]*\"|<wall ?/>|<zone>")  # of Moses, with -xml-input
ENOUGH_LINES, ENOUGH_LETTERS = 5, 20  # to say anything about the case or the script of a text
PIECES = "pieces"
RARE = "rare_"  # before the names of arrays

Table = dict[str, Any]
Arrays = dict[str, NDArray[np.uint8]]


@dataclass(frozen=True)
class TextSide:
    """How the text of one language becomes words and words become text; by default, words are separated by spaces.

    `name` is that of the tokenizer in the registry, "pieces" for a model of SentencePiece, empty for blanks. Most
    letters of the training text are of the `script`, which is empty if unknown. Sentences begin with a capital letter
    if there is a `truecaser`. Words that the training text lacks, or that are rare in it, are written as `rare` says.
    """

    language: str = ""
    name: str = ""
    tokenizer: Tokenizer = field(default=Blanks(), repr=False)
    truecaser: Truecaser | None = field(default=None, repr=False)
    script: str = ""
    rare: RareWords | None = field(default=None, repr=False)

    @property
    def raw(self) -> bool:
        """Return whether text is raw: not yet tokenized."""
        return not isinstance(self.tokenizer, Blanks)

    def tokens(self, text: str) -> str:
        """Return the tokens of a text separated by spaces, in the case in which they are written."""
        if not self.raw:
            return text
        return escape_markup(self.tokenizer.tokenize(clean_characters(text), self.language))

    def words(self, text: str) -> list[str]:
        """Return the words of a text, as the model knows them: `RewrittenWords` if rare ones are rewritten."""
        tokens = self.tokens(text)
        words = split_words(tokens if self.truecaser is None else self.truecaser.apply(tokens))
        return words if self.rare is None else self.rare.rewrite(words)

    def write(self, text: str) -> str:
        """Return the text of words separated by spaces; undoes `words`."""
        if not self.raw:
            return text
        cased = text if self.truecaser is None else detruecase(text)
        return self.tokenizer.detokenize(split_words(unescape(cased)), self.language)

    def doubt(self, texts: Sequence[str], vocabulary: Vocabulary | None = None) -> str:
        """Return in what way texts do not look as this side expects them, and what to do; nothing if they do.

        A `vocabulary` is that of a model: a word that it knows is not taken for one with punctuation.
        """
        if not self.raw:
            if marked := next((found for found in map(DECODER_MARKUP.search, texts) if found), None):
                return f"{marked[0]} is taken as words: Toledo does not follow Moses' markup of the input; remove it"
            word = raw_word(texts)
            if word is None or any(known is not None and word in known for known in (vocabulary, self.rare)):
                return ""
            return f"the text looks raw ({word!r}), and tokenized text is expected: use `toledo text tokenize`"
        if looks_tokenized(texts):
            return "the text looks tokenized, and raw text is expected: give `tokenized=True`, or the raw text"
        letters = scripts(texts)
        if self.script and letters.total() >= ENOUGH_LETTERS and 2 * letters[self.script] < letters.total():
            other = letters.most_common(1)[0][0]
            return f"most letters are {other}, and {self.script} is expected: check the language of the text"
        if self.truecaser is not None and len(texts) >= ENOUGH_LINES and not any(map(_has_capital, texts)):
            return "the text is all in lower case, and the model knows words with capitals: give the text as it was"
        return ""

    def learn_case(self, tokens: Sequence[str]) -> TextSide:
        """Return this side with the usual case and the script of words, as tokenized text has them."""
        first = [line.lstrip("\"'«„“¿¡( ")[:1] for line in tokens]
        capital = sum(letter.isupper() for letter in first)
        cased = self.raw and not isinstance(self.tokenizer, PieceModel) and capital > len(first) / 2
        truecaser = Truecaser.train(tokens) if cased else None
        return replace(self, truecaser=truecaser, script=main_script(tokens))

    def to_table(self) -> Table:
        """Return what describes this side, without arrays."""
        return {"language": self.language, "tokenizer": self.name, "script": self.script}

    def to_arrays(self) -> Arrays:
        """Return what this side has learned, as bytes."""
        found = {}
        if isinstance(self.tokenizer, PieceModel):
            found["pieces"] = np.frombuffer(self.tokenizer.content, np.uint8)
        if self.truecaser is not None:
            forms = "\n".join(sorted(self.truecaser.best.values()))
            found["forms"] = np.frombuffer(forms.encode(), np.uint8)
        if self.rare is not None:
            found.update({f"{RARE}{name}": array for name, array in self.rare.to_arrays().items()})
        return found

    @classmethod
    def from_table(cls, table: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TextSide:
        """Return what `to_table` and `to_arrays` gave."""
        truecaser = None
        if "forms" in arrays:
            forms = arrays["forms"].tobytes().decode("utf-8").split("\n")
            truecaser = Truecaser({form.lower(): form for form in forms})
        name = str(table["tokenizer"])
        if name == PIECES:
            tokenizer: Tokenizer = PieceModel(arrays["pieces"].tobytes())
        else:
            tokenizer = TOKENIZERS.make(name) if name else Blanks()
        own = {key.removeprefix(RARE): array for key, array in arrays.items() if key.startswith(RARE)}
        rare = RareWords.from_arrays(own) if own else None
        return cls(str(table["language"]), name, tokenizer, truecaser, str(table["script"]), rare)


@dataclass(frozen=True)
class Preparation:
    """How both sides of a model's text are prepared; by default, words are separated by spaces."""

    source: TextSide = TextSide()
    target: TextSide = TextSide()

    @property
    def raw(self) -> bool:
        """Return whether texts are raw."""
        return self.source.raw

    @property
    def of_words(self) -> Preparation:
        """Return how text is prepared that is tokenized already: only its rare words are rewritten."""
        return TOKENIZED if self.source.rare is None else Preparation(TextSide(rare=self.source.rare))

    @property
    def languages(self) -> tuple[str, str]:
        """Return the codes of both languages, empty ones if they are not known."""
        return self.source.language, self.target.language

    @property
    def signature(self) -> str:
        """Return languages and tokenizers in one word, and whether rare words are rewritten."""
        own = [f"{side.language or 'any'}.{side.name or 'blanks'}" for side in (self.source, self.target)]
        return f"{own[0]}{'' if self.source.rare is None else '+rare'}-{own[1]}"


TOKENIZED = Preparation()


def make_side(
    language: str | None, named: Named[Tokenizer] | None, texts: Iterable[str], *, target: bool = False
) -> TextSide:
    """Return a side of raw text whose tokenizer has learned what it needs from texts; its case is not known yet."""
    side = "target" if target else "source"
    code = language_code(language, f"{side}_language")
    tokenizer = make_tokenizer(code, named)
    if target:
        tokenizer.require_undo()
    trained = tokenizer.trained(map(clean_characters, texts))
    trained.tokenize("", code)  # a missing package should not cost the work
    name = PIECES if isinstance(trained, PieceModel) else _name(tokenizer)
    return TextSide(code, name, trained)


def _name(tokenizer: Tokenizer) -> str:
    known = (name for name in TOKENIZERS.names() if TOKENIZERS.get(name) is type(tokenizer))
    return next(known, f"{type(tokenizer).__module__}:{type(tokenizer).__qualname__}")


def _has_capital(text: str) -> bool:
    return any(letter.isupper() for letter in text)
