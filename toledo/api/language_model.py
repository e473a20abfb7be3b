"""N-gram language models over text: train, load, save, score, mix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from toledo.api.corpora import encode_texts
from toledo.api.inputs import Texts
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, require_output, require_output_directory
from toledo.formats.arpa import read_arpa, write_arpa
from toledo.language_model.estimate import estimate
from toledo.language_model.interpolate import interpolate, tune_weights
from toledo.language_model.model import (
    DESCRIPTION,
    LineScorer,
    LineScores,
    Perplexity,
    load_language_model,
    save_language_model,
)
from toledo.language_model.model import LanguageModel as EncodedModel
from toledo.progress import Progress, silent
from toledo.text.corpus import read_sentence_blocks
from toledo.text.vocabulary import Vocabulary


class LanguageModel:
    """An n-gram model with its vocabulary; words stand between blanks. Logarithms have base 10, as in KenLM.

    `mix` leaves the weights of the models, and the perplexities of each model and of their mixture.
    """

    weights: tuple[float, ...] = ()
    perplexities: tuple[float, ...] = ()

    def __init__(self, model: EncodedModel, vocabulary: Vocabulary) -> None:
        self.model = model
        self.vocabulary = vocabulary

    @classmethod
    def train(
        cls, texts: Texts, order: int = 3, *, prune: int | Sequence[int] = 0, progress: Progress = silent
    ) -> LanguageModel:
        """Estimate an n-gram model with modified Kneser-Ney smoothing.

        N-grams that occur `prune` times or less are left out; several numbers are for unigrams, bigrams, and so on.
        """
        vocabulary = Vocabulary()
        thresholds = (0, prune)[: max(order, 1)] if isinstance(prune, int) else prune
        ngrams = estimate(encode_texts(texts, vocabulary, "texts"), order, thresholds, progress)
        return cls(EncodedModel(ngrams), vocabulary)

    @classmethod
    def load(cls, path: str | Path, progress: Progress = silent) -> LanguageModel:
        """Read an ARPA file, or a directory that `save` wrote."""
        vocabulary = Vocabulary()
        return cls(read_language_model(path, vocabulary, progress), vocabulary)

    def save(self, path: str | Path, progress: Progress = silent) -> None:
        """Write NAME.arpa or NAME.arpa.gz, or else a directory, which is read faster."""
        if _is_arpa(path):
            write_arpa(path, self.model, self.vocabulary, progress)
        else:
            save_language_model(path, self.model, self.vocabulary)

    @staticmethod
    def require_output(path: str | Path) -> None:
        """Refuse a path that `save` cannot write, before any work is done for it."""
        if _is_arpa(path):
            require_output(path)
        else:
            require_output_directory(path, DESCRIPTION)

    @classmethod
    def mix(cls, models: Sequence[LanguageModel], texts: Texts, progress: Progress = silent) -> LanguageModel:
        """Interpolate models with the weights that suit a text best: those of its lowest perplexity."""
        if len(models) < 2:
            raise InputError(f"{len(models)} model to mix", argument="models", remedy="give two models or more")
        vocabulary = Vocabulary()
        encoded = [model.over(vocabulary) for model in models]
        sentences = encode_texts(texts, vocabulary, "texts", grow=False)
        weights = tune_weights(encoded, sentences).tolist()
        mixture = cls(interpolate(encoded, weights, progress), vocabulary)
        mixture.weights = tuple(round(weight, 6) for weight in weights)
        every = [*encoded, mixture.model]
        mixture.perplexities = tuple(round(one.perplexity(sentences).without_unknown, 4) for one in every)
        return mixture

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return self.model.order

    @property
    def counts(self) -> list[int]:
        """The number of n-grams of each order."""
        return [len(ngrams) for ngrams in self.model.ngrams.orders]

    def __contains__(self, word: str) -> bool:
        return word in self.vocabulary

    def __repr__(self) -> str:
        return f"LanguageModel(order {self.order}, {len(self.vocabulary):,} words)"

    @overload
    def score(self, texts: str, *, threads: int | None = None) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, texts: Path | Iterable[str], *, threads: int | None = None) -> NDArray[np.float64]: ...

    def score(self, texts: str | Path | Iterable[str], *, threads: int | None = None) -> float | NDArray[np.float64]:
        """Return the log10 probability of each text as a sentence, its end included; a `Path` is a file of texts."""
        if isinstance(texts, str):
            return float(self._scorer.score([texts], threads)[0])
        if isinstance(texts, Path):
            return np.concatenate([np.empty(0), *(block.log10 for block in self.score_file(texts, threads))])
        return self._scorer.score(list(texts), threads)

    def score_file(self, path: str | Path, threads: int | None = None) -> Iterator[LineScores]:
        """Score the lines of a file block by block, for files that need not fit in memory, and for pipes."""
        return self._scorer.score_file(path, threads)

    def perplexity(self, texts: Texts, *, threads: int | None = None) -> Perplexity:
        """Measure how well the model predicts the texts."""
        if isinstance(texts, str | Path):
            blocks = read_sentence_blocks(texts, self.vocabulary, grow=False)
        else:
            blocks = iter([encode_texts(texts, self.vocabulary, "texts", grow=False)])
        results = [self.model.perplexity(block, threads) for block in blocks]
        if not results:
            raise InputError("there is no text to score", remedy="give a text of one sentence per line")
        return sum(results[1:], start=results[0])

    def over(self, vocabulary: Vocabulary) -> EncodedModel:
        """Return the model over another vocabulary, which grows by the words that it lacks."""
        ids = np.array([vocabulary.add(word) for word in self.vocabulary], np.int32)
        if np.array_equal(ids, np.arange(ids.size)):
            return self.model
        return EncodedModel(self.model.ngrams.renumber_words(ids))

    @cached_property
    def _scorer(self) -> LineScorer:
        return LineScorer(self.model, self.vocabulary)


def read_language_model(path: str | Path, vocabulary: Vocabulary, progress: Progress = silent) -> EncodedModel:
    """Read an ARPA file or a saved directory; new words join the vocabulary."""
    if Path(path).is_dir():
        return load_language_model(path, vocabulary)
    return read_arpa(path, vocabulary, progress)


def _is_arpa(path: str | Path) -> bool:
    return str(path) == STANDARD_STREAM or str(path).endswith((".arpa", ".arpa.gz"))
