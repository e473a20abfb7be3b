"""chrF (Popović 2015) and chrF++ (Popović 2017): F-score of character n-grams, and of word n-grams with `word_order` 2.

Statistics of a segment are [n-grams of the hypothesis, of the reference, matches] for each order, characters first, as
sacreBLEU lays them out; of several references the one with the best F-score counts. With P and R the averages of
precision and recall over the orders that both sides have, the score is 100 · (1 + β²) P R / (β² P + R).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import Numbering, Sequences, character_sequences, group_offsets, number_words, offsets_of
from toledo.errors import InputError
from toledo.metrics.references import NGramTrie, add_reference, cleared, count_matches, new_trie
from toledo.metrics.score import Score
from toledo.metrics.segments import Rows, SegmentMetric, Text, Texts
from toledo.settings import Meta
from toledo.text.vocabulary import Vocabulary

EPSILON = 1e-16  # as in sacreBLEU
PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@dataclass(frozen=True, kw_only=True)
class CHRF(SegmentMetric):
    """chrF with sacreBLEU's settings, numbers and signatures; white space does not count unless `whitespace` is set.

    Words given instead of a text are joined by spaces.
    """

    char_order: Annotated[int, Meta(ge=1, description="Length of the longest character n-grams.")] = 6
    word_order: Annotated[int, Meta(ge=0, description="Length of the longest word n-grams; 2 for chrF++.")] = 0
    beta: Annotated[float, Meta(gt=0, description="Weight of recall relative to precision.")] = 2
    lowercase: Annotated[bool, Meta(description="Ignore case.")] = False
    whitespace: Annotated[bool, Meta(description="Count white space as characters.")] = False
    eps_smoothing: Annotated[bool, Meta(description="Smooth as NLTK and Moses do.")] = False

    segments_at_once = 200

    def __post_init__(self) -> None:
        if self.char_order < 1 or self.word_order < 0 or self.beta <= 0:
            raise InputError("chrF needs char_order of at least 1, word_order of at least 0 and a positive beta")

    @property
    def name(self) -> str:
        """chrF2, or chrF2++ with word n-grams."""
        return f"chrF{self.beta:g}" + "+" * self.word_order

    @property
    def size(self) -> int:
        """Number of statistics of a segment."""
        return 3 * (self.char_order + self.word_order)

    def _counter(
        self, hypotheses: Sequence[Text], references: Sequence[Sequence[Text]], result: Rows
    ) -> Callable[[int, int], None]:
        """Return a function that fills rows by comparing each hypothesis with each of its references."""
        if self.eps_smoothing and any(len(group) > 1 for group in references):
            return lambda begin, end: self._fill_best(hypotheses, references, begin, end, result)
        flat = [reference for group in references for reference in group]
        texts = [self._text(text) for text in (*hypotheses, *flat)]
        characters, words = self._characters(texts), self._word_numbers(texts)
        arrays = (characters.symbols, characters.offsets), (words.symbols, words.offsets), group_offsets(references)
        orders = self.char_order, self.word_order
        return lambda begin, end: _fill_statistics(*arrays, begin, end, orders, float(self.beta), result)

    def _fill_best(
        self, hypotheses: Sequence[Text], references: Sequence[Sequence[Text]], begin: int, end: int, result: Rows
    ) -> None:
        """Fill rows with the statistics of the best reference by `eps_smoothing`, which the kernel lacks."""
        for segment in range(begin, end):
            group = references[segment]
            rows = self.corpus_statistics([hypotheses[segment]] * len(group), [[one] for one in group], threads=1)
            result[segment] = rows[int(np.argmax(self.scores(rows)))]

    def scores(self, statistics: Rows) -> Rows:
        """Return the score, 0 to 100, of each row."""
        rows = self._checked(statistics)
        return _eps_scores(rows, float(self.beta)) if self.eps_smoothing else _scores(rows, float(self.beta))

    def gradient(self, statistics: Rows) -> Rows:
        """Return the derivatives of the score by the statistics; 0 where the score is 0."""
        if self.eps_smoothing:
            raise InputError("chrF with eps_smoothing has no gradient", remedy="use eps_smoothing=False")
        return _gradient(self._checked(statistics[None])[0], float(self.beta))

    def details(self, statistics: Rows) -> dict[str, Any]:
        """Return the orders and beta."""
        return {"char_order": self.char_order, "word_order": self.word_order, "beta": self.beta}

    def encode(self, texts: Sequence[str]) -> Sequences | None:
        """Return the characters; None if words or epsilon count too."""
        plain = not self.word_order and not self.eps_smoothing
        return self._characters([self._text(text) for text in texts]) if plain else None

    def encode_words(self, texts: Sequences, vocabulary: Vocabulary) -> Sequences:
        """Return the characters of texts of word ids, without white space."""
        words, places = np.unique(texts.symbols, return_inverse=True)
        spelled = ["".join(word.split()) for word in vocabulary.words(words.tolist())]
        encoded = np.frombuffer("".join(spelled).encode("utf-32-le", "surrogatepass"), np.int32)
        lengths = np.array([len(word) for word in spelled], np.int64)
        starts, ends = offsets_of(lengths)[:-1], offsets_of(lengths[places])
        shifts = np.repeat(starts[places] - ends[:-1], lengths[places])
        return Sequences(encoded[np.arange(ends[-1]) + shifts], ends[texts.offsets])

    def gains(self, texts: Sequences, hypotheses: int, probabilities: Rows, *, only_best: bool = False) -> Rows:
        """Return the expected chrF of the first texts."""
        from toledo.metrics.expected import expected_chrf

        if self.word_order or self.eps_smoothing:
            raise InputError("expected chrF counts characters only", remedy="use word_order=0, eps_smoothing=False")
        return expected_chrf(texts, hypotheses, probabilities, self.char_order, float(self.beta))

    def twin(self) -> Any:
        """Return sacreBLEU's object with the same settings."""
        from sacrebleu.metrics.chrf import CHRF as SacreCHRF  # noqa: N811

        return SacreCHRF(**self._settings())

    def _text(self, text: Text) -> str:
        joined = text if isinstance(text, str) else " ".join(cast(Sequence[str], text))
        return joined.lower() if self.lowercase else joined

    def _characters(self, texts: Sequence[str]) -> Sequences:
        if not self.whitespace:
            return character_sequences(texts)
        encoded = bytearray("".join(texts).encode("utf-32-le", "surrogatepass"))
        return Sequences(np.frombuffer(encoded, np.int32), offsets_of([len(text) for text in texts]))

    def _word_numbers(self, texts: Sequence[str]) -> Sequences:
        if not self.word_order:
            return Sequences(np.empty(0, np.int32), np.zeros(len(texts) + 1, np.int64))
        return number_words([split_punctuation(text) for text in texts], Numbering())


def _eps_scores(statistics: Rows, beta: float) -> Rows:
    """Average F-scores of all orders, with a tiny number where one is undefined, as chrF's first program did."""
    said, meant, matches = statistics[:, 0::3], statistics[:, 1::3], statistics[:, 2::3]
    precision = np.where(said > 0, matches / np.maximum(said, 1), EPSILON)
    recall = np.where(meant > 0, matches / np.maximum(meant, 1), EPSILON)
    below = beta * beta * precision + recall
    values = np.where(below > 0, (1 + beta * beta) * precision * recall / np.where(below > 0, below, 1), EPSILON)
    scores: Rows = 100.0 * values.sum(axis=1) / said.shape[1]
    return scores


def split_punctuation(text: str) -> list[str]:
    """Return the words of chrF++: a punctuation mark at the end, or else at the beginning, of a word is split off."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


@kernel
def _averages(statistics: Rows) -> tuple[float, float, int]:
    """Precision and recall over the orders for which both sides have n-grams, and the number of these orders."""
    precision, recall, orders = 0.0, 0.0, 0
    for place in range(0, statistics.size, 3):
        hypothesis, reference, matches = statistics[place], statistics[place + 1], statistics[place + 2]
        if hypothesis > 0.0 and reference > 0.0:
            precision += matches / hypothesis
            recall += matches / reference
            orders += 1
    if orders == 0:
        return 0.0, 0.0, 0
    return precision / orders, recall / orders, orders


@kernel
def _score(statistics: Rows, beta: float) -> float:
    precision, recall, _ = _averages(statistics)
    if precision + recall == 0.0:
        return 0.0
    factor = beta * beta
    return 100.0 * ((1.0 + factor) * precision * recall / (factor * precision + recall))


@kernel(small=100_000)
def _scores(statistics: Rows, beta: float) -> Rows:
    scores = np.empty(statistics.shape[0])
    for row in range(statistics.shape[0]):
        scores[row] = _score(statistics[row], beta)
    return scores


@kernel
def _gradient(statistics: Rows, beta: float) -> Rows:
    """With F(P, R): ∂F/∂P = (1 + β²) R² / (β² P + R)², ∂F/∂R = (1 + β²) β² P² / (β² P + R)²."""
    gradient = np.zeros(statistics.size)
    precision, recall, orders = _averages(statistics)
    if precision + recall == 0.0:
        return gradient
    factor = beta * beta
    common = 100.0 * (1.0 + factor) / (factor * precision + recall) ** 2 / orders
    by_precision, by_recall = common * recall * recall, common * factor * precision * precision
    for place in range(0, statistics.size, 3):
        hypothesis, reference, matches = statistics[place], statistics[place + 1], statistics[place + 2]
        if hypothesis > 0.0 and reference > 0.0:
            gradient[place] = -by_precision * matches / (hypothesis * hypothesis)
            gradient[place + 1] = -by_recall * matches / (reference * reference)
            gradient[place + 2] = by_precision / hypothesis + by_recall / reference
    return gradient


@kernel(small=100_000)
def _fill_statistics(
    characters: Texts,
    words: Texts,
    groups: NDArray[np.int64],
    begin: int,
    end: int,
    orders: tuple[int, int],
    beta: float,
    result: Rows,
) -> None:
    """Fill rows; texts are first all hypotheses, then all references."""
    segments = groups.size - 1
    memory = new_trie(max(_largest(characters, orders[0]), _largest(words, orders[1])))
    candidate = np.zeros(result.shape[1])
    split = 3 * orders[0]
    for segment in range(begin, end):
        best = -1.0
        for reference in range(groups[segment], groups[segment + 1]):
            _compare(memory, characters, segment, segments + reference, candidate[:split])
            _compare(memory, words, segment, segments + reference, candidate[split:])
            score = _score(candidate, beta)
            if score > best:
                best = score
                result[segment] = candidate


@kernel
def _largest(texts: Texts, order: int) -> int:
    longest = 0
    for text in range(texts[1].size - 1):
        longest = max(longest, int(texts[1][text + 1] - texts[1][text]))
    return longest * order


@kernel
def _compare(memory: NGramTrie, texts: Texts, hypothesis: int, reference: int, statistics: Rows) -> None:
    """Write the statistics of one hypothesis against one reference, for characters or for words."""
    symbols, offsets = texts
    order = statistics.size // 3
    said = symbols[offsets[hypothesis] : offsets[hypothesis + 1]]
    meant = symbols[offsets[reference] : offsets[reference + 1]]
    trie = cleared(memory, meant.size * order)
    nodes = add_reference(trie, 0, meant, order)
    matches = np.empty(order)
    count_matches(trie, nodes, said, matches)
    for n in range(order):
        expected = max(meant.size - n, 0)
        statistics[3 * n] = max(said.size - n, 0) if expected > 0 else 0  # not counted where the reference has none
        statistics[3 * n + 1] = expected
        statistics[3 * n + 2] = matches[n]


def corpus_chrf(
    hypotheses: Sequence[str], references: Any, *, remove_whitespace: bool = True, **settings: Any
) -> Score:
    """Compute chrF of a corpus as sacreBLEU does; settings are those of `CHRF`."""
    return CHRF(whitespace=not remove_whitespace, **settings).corpus_score(hypotheses, references)


def sentence_chrf(
    hypothesis: str, references: str | Sequence[str], *, remove_whitespace: bool = True, **settings: Any
) -> Score:
    """Compute chrF of one text as sacreBLEU does; settings are those of `CHRF`."""
    return CHRF(whitespace=not remove_whitespace, **settings).sentence_score(hypothesis, references)
