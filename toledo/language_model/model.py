"""Language models: train, load, save and mix them, and score text with them.

On disk a model is an ARPA file (`toledo.language_model.arpa`) or a directory of its arrays and its vocabulary's. Lines
are scored from bytes to log10 probabilities in one compiled function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.compiled.kernels import kernel, map_chunks
from toledo.errors import InputError
from toledo.files import display_name, is_stream, read_blocks, read_lines, require_output, require_output_directory
from toledo.language_model.automaton import (
    NO_CONTEXT,
    NOT_A_WORD,
    Automaton,
    advance,
    begin_state,
    build_automaton,
    known_tokens,
    known_word,
    sentence_scores,
    token_scores,
)
from toledo.language_model.backoff import BackoffModel, count_boundaries, refuse_boundaries
from toledo.language_model.estimate import estimate
from toledo.progress import Progress, silent
from toledo.results import Result
from toledo.text.corpus import Sentences, encode_texts, read_sentence_blocks, refuse_reserved_words
from toledo.text.encoding import Encoder, PaddedText, WordIndex, build_word_index, encode_text, padded
from toledo.text.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Vocabulary

Texts = Iterable[str] | Path | str  # a str names a file, but is one text for `score`

T = TypeVar("T")

SENTENCES_AT_ONCE = 1000
BYTES_AT_ONCE = 1 << 18  # the results fit into a processor's cache
DESCRIPTION = "language_model.toml"
FORMAT = 1
BREAK = "<br>"  # stands behind each sentence in lines that are documents


class FullScore(NamedTuple):
    """The log10 probability of a word, the length of the n-gram that was found for it, and whether it is unknown."""

    log10: float
    ngram_length: int
    oov: bool


class LineScores(NamedTuple):
    """The log10 probability of each line, its number of words, and how many of them are unknown."""

    log10: NDArray[np.float64]
    words: NDArray[np.int64]
    unknown: NDArray[np.int64]


@dataclass(frozen=True)
class Perplexity(Result):
    """How well a model predicts a text: sums of log10 probabilities and numbers of tokens, sentence ends among them."""

    log10: float
    tokens: int
    unknown_log10: float
    unknown: int

    def __add__(self, other: Perplexity) -> Perplexity:
        """Return that of two texts together."""
        return Perplexity(*(sum(pair) for pair in zip(astuple(self), astuple(other), strict=True)))

    @property
    def value(self) -> float:
        """Return the perplexity where an unknown word has the probability of `<unk>`."""
        return float(10 ** (-self.log10 / max(self.tokens, 1)))

    @property
    def without_unknown(self) -> float:
        """Return the perplexity of the known words and sentence ends alone."""
        return float(10 ** (-(self.log10 - self.unknown_log10) / max(self.tokens - self.unknown, 1)))

    def to_dict(self) -> dict[str, float]:
        """Return perplexities, the sum of log10 probabilities, and numbers of tokens."""
        numbers = {name: round(getattr(self, name), 6) for name in ("value", "without_unknown", "log10")}
        return {**numbers, "tokens": self.tokens, "unknown": self.unknown}

    def __str__(self) -> str:
        names = {"value": "perplexity", "without_unknown": "without unknown words"}
        return "\n".join(f"{names.get(name, name)}\t{number}" for name, number in self.to_dict().items())


def document_lines(texts: Texts, document_ids: Texts) -> list[str]:
    """Return a line for each document, with `<br>` behind each sentence; texts and ids are lists or files."""
    lines, ids = (list(read_lines(one) if isinstance(one, str | Path) else one) for one in (texts, document_ids))
    if len(lines) != len(ids):
        raise InputError(f"{len(ids)} document ids for {len(lines)} lines", remedy="give an id for each line")
    documents = groupby(zip(ids, lines, strict=True), key=itemgetter(0))
    return [" ".join(f"{line} {BREAK}" for _, line in some) for _, some in documents]


class LanguageModel:
    """A back-off model ready for look-ups.

        model = LanguageModel.train(lines, order=3)
        model.score("the house is small"), model.perplexity(Path("test.en")).value

    Methods for text need the `vocabulary`, which models have that were trained, loaded or mixed; those for word ids
    (`score_sentences`, `sentence_perplexity`, `word_scores`) do not. Compiled code uses `automaton` with
    `toledo.language_model.automaton.advance`; a state is a number, 0 is no context, `begin` is the state after `<s>`,
    and a sentence ends with the word `</s>`. `mix` leaves the weights of the models, and the perplexities of each model
    and of their mixture.
    """

    weights: tuple[float, ...] = ()
    perplexities: tuple[float, ...] = ()

    def __init__(self, ngrams: BackoffModel, vocabulary: Vocabulary | None = None) -> None:
        self.ngrams = ngrams
        self._vocabulary = vocabulary

    @classmethod
    def train(
        cls,
        texts: Texts,
        order: int = 3,
        *,
        prune: int | Sequence[int] = 0,
        document_ids: Texts | None = None,
        progress: Progress = silent,
    ) -> LanguageModel:
        """Estimate an n-gram model with modified Kneser-Ney smoothing.

        N-grams that occur `prune` times or less are left out; several numbers are for unigrams, bigrams, and so on.
        With `document_ids` contexts reach across sentences: each document is one line, with `<br>` behind each
        sentence.
        """
        vocabulary = Vocabulary()
        texts = texts if document_ids is None else document_lines(texts, document_ids)
        thresholds = (0, prune)[: max(order, 1)] if isinstance(prune, int) else prune
        return cls(estimate(encode_texts(texts, vocabulary, "texts"), order, thresholds, progress), vocabulary)

    @classmethod
    def load(cls, path: str | Path, progress: Progress = silent) -> LanguageModel:
        """Read an ARPA file, which may end in .gz, or a directory that `save` wrote."""
        return read_language_model(path, Vocabulary(), progress)

    @classmethod
    def mix(cls, models: Sequence[LanguageModel], texts: Texts, progress: Progress = silent) -> LanguageModel:
        """Interpolate models with the weights that suit a text best: those of its lowest perplexity."""
        from toledo.language_model.interpolate import interpolate, tune_weights  # it imports this module

        if len(models) < 2:
            raise InputError(f"{len(models)} model to mix", argument="models", remedy="give two models or more")
        vocabulary = Vocabulary()
        moved = [model.with_vocabulary(vocabulary) for model in models]
        sentences = encode_texts(texts, vocabulary, "texts", grow=False)
        weights = tune_weights(moved, sentences).tolist()
        mixture = cls(interpolate(moved, weights, progress).ngrams, vocabulary)
        perplexities = [one.sentence_perplexity(sentences).without_unknown for one in (*moved, mixture)]
        mixture.weights = tuple(round(weight, 6) for weight in weights)
        mixture.perplexities = tuple(round(one, 4) for one in perplexities)
        return mixture

    @staticmethod
    def require_output(path: str | Path) -> None:
        """Refuse a path that `save` cannot write, before any work is done for it."""
        from toledo.language_model.arpa import is_arpa  # it imports this module

        if is_arpa(path):
            require_output(path)
        else:
            require_output_directory(path, DESCRIPTION)

    def save(self, path: str | Path, progress: Progress = silent) -> None:
        """Write NAME.arpa, NAME.arpa.gz, or else a directory; what is there already is replaced whole."""
        from toledo.language_model.arpa import is_arpa, write_arpa  # it imports this module

        if is_arpa(path):
            write_arpa(path, self, self.vocabulary, progress)
        else:
            arrays = {f"vocabulary.{name}": array for name, array in self.vocabulary.to_arrays().items()}
            arrays |= {f"ngrams.{name}": array for name, array in self.to_arrays().items()}
            storage.save(path, DESCRIPTION, {"format": FORMAT, "order": self.order}, arrays)

    @property
    def order(self) -> int:
        """Return the length of the longest n-grams."""
        return self.ngrams.order

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the words of the model by number, possibly among others."""
        if self._vocabulary is None:
            raise ValueError("this language model knows words by number only: give it a vocabulary to score text")
        return self._vocabulary

    def with_vocabulary(self, vocabulary: Vocabulary) -> LanguageModel:
        """Return the model with words numbered by another vocabulary, which they join."""
        ids = np.array([vocabulary.add(word) for word in self.vocabulary], np.int32)
        same = np.array_equal(ids, np.arange(ids.size))
        return LanguageModel(self.ngrams if same else self.ngrams.renumber_words(ids), vocabulary)

    @property
    def counts(self) -> list[int]:
        """Return the number of n-grams of each order."""
        return [len(ngrams) for ngrams in self.ngrams.orders]

    def __repr__(self) -> str:
        return f"LanguageModel(order {self.order}, {self.counts[0]:,} words)"

    def __contains__(self, word: str) -> bool:
        """Return whether the model knows a word; `<unk>`, `<s>` and `</s>` are none."""
        number = self.vocabulary.id(word)
        return number >= len(RESERVED) and bool(known_word(self.automaton.unigrams, number) == number)

    @cached_property
    def automaton(self) -> Automaton:
        """Return the look-up tables."""
        return build_automaton(self.ngrams)

    @property
    def begin(self) -> int:
        """Return the state at the beginning of a sentence."""
        return begin_state(self.automaton)

    @overload
    def score(  # type: ignore[overload-overlap]
        self, texts: str, bos: bool = True, eos: bool = True, *, threads: int | None = None
    ) -> float: ...

    @overload
    def score(
        self, texts: Path | Iterable[str], bos: bool = True, eos: bool = True, *, threads: int | None = None
    ) -> NDArray[np.float64]: ...

    def score(
        self, texts: str | Path | Iterable[str], bos: bool = True, eos: bool = True, *, threads: int | None = None
    ) -> float | NDArray[np.float64]:
        """Return the log10 probability of each text, between `<s>` (`bos`) and `</s>` (`eos`) as in KenLM."""
        if isinstance(texts, str):
            return float(self.score([texts], bos, eos, threads=1)[0])
        if not bos or not eos:
            lines = read_lines(texts) if isinstance(texts, Path) else texts
            return np.array([sum(one.log10 for one in self.full_scores(line, bos, eos)) for line in lines], np.float64)
        if isinstance(texts, Path):
            return np.concatenate([np.empty(0), *(part.log10 for part in self.score_file(texts, threads))])
        listed = list(texts)
        scores = self.score_block("\n".join([*listed, ""]).encode(), threads).log10
        if scores.size != len(listed):
            raise ValueError("a line holds a line end")
        return scores

    def score_file(self, path: str | Path, threads: int | None = None) -> Iterator[LineScores]:
        """Score the lines of a file block by block, for files that need not fit in memory, and for pipes."""
        done = 0
        for block in read_blocks(path, prompt=is_stream(path)):
            scores = self.score_block(block, threads, display_name(path), done)
            yield scores
            done += scores.log10.size

    def score_block(
        self, block: bytes, threads: int | None = None, file: str | None = None, done: int = 0
    ) -> LineScores:
        """Score all lines of a block; `file` and the number of lines `done` before it are for messages."""
        bounds, index, automaton = _chunk_bounds(block), self._word_index, self.automaton

        def work(chunk: int, _: int) -> tuple[LineScores, int]:
            content = block[bounds[chunk] : bounds[chunk + 1]]
            return _score_text(index, automaton, padded(content), len(content))

        parts = map_chunks(work, len(bounds) - 1, chunk=1, threads=threads)
        if any(boundaries for _, boundaries in parts):
            words, lengths = Encoder(self.vocabulary, grow=False).encode(block)
            refuse_reserved_words(file, done, words, lengths, BEGIN)
        if len(parts) == 1:
            return parts[0][0]
        return LineScores(*(np.concatenate(column) for column in zip(*(scores for scores, _ in parts), strict=True)))

    def full_scores(self, text: str, bos: bool = True, eos: bool = True) -> Iterator[FullScore]:
        """Yield log10 probability, length of the n-gram found, and whether it is unknown, for each word of a text."""
        words = encode_texts([text], self.vocabulary, "text", grow=False).words.tolist()
        state, history = (self.begin, [BEGIN]) if bos else (NO_CONTEXT, [])
        for word in [*(known_word(self.automaton.unigrams, word) for word in words), *([END] if eos else [])]:
            history = [*history, word][-self.order :]
            log10, state = advance(self.automaton, state, word)
            yield FullScore(float(log10), self.ngrams.longest_suffix(history), word == UNKNOWN)

    def perplexity(self, texts: Texts, *, threads: int | None = None, progress: Progress = silent) -> Perplexity:
        """Measure how well the model predicts the texts."""
        if isinstance(texts, str | Path):
            blocks = read_sentence_blocks(texts, self.vocabulary, grow=False)
        else:
            blocks = iter([encode_texts(texts, self.vocabulary, "texts", grow=False)])
        results = [self.sentence_perplexity(block, threads, progress) for block in blocks]
        if not results:
            raise InputError("there is no text to score", remedy="give a text of one sentence per line")
        return sum(results[1:], start=results[0])

    def score_sentences(
        self, sentences: Sentences, threads: int | None = None, progress: Progress = silent
    ) -> NDArray[np.float64]:
        """Return the log10 probability of each sentence, its end included."""
        automaton = self.automaton

        def work(begin: int, end: int) -> NDArray[np.float64]:
            return sentence_scores(automaton, *_known(automaton, sentences, begin, end))

        return np.concatenate([np.empty(0), *_map_sentences(work, sentences, threads, progress)])

    def sentence_perplexity(
        self, sentences: Sentences, threads: int | None = None, progress: Progress = silent
    ) -> Perplexity:
        """Measure how well the model predicts sentences of word ids."""
        automaton = self.automaton

        def work(begin: int, end: int) -> Perplexity:
            tokens, scores = _tokens_and_scores(automaton, sentences, begin, end)
            unknown = scores[tokens == UNKNOWN]
            return Perplexity(float(scores.sum()), tokens.size, float(unknown.sum()), unknown.size)

        return sum(_map_sentences(work, sentences, threads, progress), start=Perplexity(0.0, 0, 0.0, 0))

    def word_scores(self, sentences: Sentences) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return all words and sentence ends as the model sees them (unknown ones as UNKNOWN), and their log10."""
        refuse_boundaries(sentences)
        return _tokens_and_scores(self.automaton, sentences, 0, len(sentences))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return named arrays, for saving."""
        return self.ngrams.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], vocabulary_size: int) -> LanguageModel:
        """Return what `to_arrays` gave; arrays that do not fit together or the vocabulary are refused."""
        return cls(BackoffModel.from_arrays(arrays, vocabulary_size))

    @cached_property
    def _word_index(self) -> WordIndex:
        known = self.automaton.unigrams["next"][: len(self.vocabulary)] != NOT_A_WORD
        known[UNKNOWN] = False  # `<unk>` in a text is not a word that the model knows
        return build_word_index(self.vocabulary, known)


def _map_sentences(
    work: Callable[[int, int], T], sentences: Sentences, threads: int | None, progress: Progress
) -> list[T]:
    refuse_boundaries(sentences)
    size = len(sentences)
    return map_chunks(work, size, chunk=SENTENCES_AT_ONCE, threads=threads, progress=progress, label="scoring")


def _known(
    automaton: Automaton, sentences: Sentences, begin: int, end: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return sentences with unknown words replaced, and with their ends."""
    first, last = sentences.offsets[begin], sentences.offsets[end]
    return known_tokens(automaton, sentences.words[first:last], sentences.offsets[begin : end + 1] - first)


def _tokens_and_scores(
    automaton: Automaton, sentences: Sentences, begin: int, end: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the words and ends of sentences, with unknown words replaced, and their scores."""
    tokens, starts = _known(automaton, sentences, begin, end)
    return tokens, token_scores(automaton, tokens, starts)


def load_language_model(directory: str | Path, vocabulary: Vocabulary) -> LanguageModel:
    """Read a directory that `LanguageModel.save` wrote; words that are new join the vocabulary."""
    content, arrays = storage.load(directory, DESCRIPTION)
    file = Path(directory) / DESCRIPTION
    if content.get("format") != FORMAT:
        message = f"format {content.get('format')}, this version reads {FORMAT}"
        raise InputError(message, file=file, remedy="make it again")
    if not {"vocabulary.bytes", "vocabulary.offsets"} <= arrays.keys():
        raise InputError("lacks the vocabulary", file=file, remedy="restore the directory or make it again")
    ngrams = {name.removeprefix("ngrams."): array for name, array in arrays.items() if name.startswith("ngrams.")}
    with storage.assembling(file):
        own = Vocabulary.from_arrays(arrays["vocabulary.bytes"], arrays["vocabulary.offsets"])
        return LanguageModel(BackoffModel.from_arrays(ngrams, len(own)), own).with_vocabulary(vocabulary)


def read_language_model(path: str | Path, vocabulary: Vocabulary, progress: Progress = silent) -> LanguageModel:
    """Read an ARPA file or a directory; words that are new join the vocabulary."""
    from toledo.language_model.arpa import read_arpa  # it imports this module

    return load_language_model(path, vocabulary) if Path(path).is_dir() else read_arpa(path, vocabulary, progress)


def _chunk_bounds(block: bytes) -> list[int]:
    """Return the bounds of chunks of whole lines of about BYTES_AT_ONCE; there is at least one chunk."""
    bounds = [0]
    while len(block) - bounds[-1] > BYTES_AT_ONCE:
        bounds.append(block.find(b"\n", bounds[-1] + BYTES_AT_ONCE) + 1 or len(block))
    return bounds if bounds[-1] == len(block) and len(bounds) > 1 else [*bounds, len(block)]


@kernel
def _score_text(index: WordIndex, automaton: Automaton, text: PaddedText, size: int) -> tuple[LineScores, int]:
    """Return the scores of all lines, and the number of `<s>` and `</s>` in them, which makes the scores invalid."""
    encoded = encode_text(index, text, size, UNKNOWN, END)
    lines = encoded.lacking.size
    scores = sentence_scores(automaton, encoded.words, encoded.offsets)
    return LineScores(scores, np.diff(encoded.offsets) - 1, encoded.lacking), count_boundaries(encoded.words) - lines
