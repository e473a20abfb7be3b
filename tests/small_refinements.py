"""Small models and lists for tests of refinement, and what they must give, by the formulas of He and Deng (2012)."""

import math
from itertools import product

import numpy as np
import small_tables

from toledo.model import PhraseModel, default_weights, feature_names
from toledo.phrases.lexicon import Lexicon, Lexicons
from toledo.phrases.table import SCORE_FEATURES, PhraseTable
from toledo.refinement.distributions import LEXICON, PHRASE
from toledo.refinement.expected_bleu import ListSpace
from toledo.refinement.phrase_lists import ListArrays, PhraseLists
from toledo.text.vocabulary import Vocabulary

ALL = PHRASE + LEXICON
PHRASES = [("a",), ("b",), ("a", "b"), ("b", "c"), ("c",)]


def random_model(random: np.random.Generator) -> PhraseModel:
    """Some phrase pairs with normalized probabilities, dense lexicons, and no language model."""
    chosen = [pair for pair in product(PHRASES, PHRASES) if random.random() < 0.6] or [(PHRASES[0], PHRASES[0])]
    table = small_tables.make_table(dict.fromkeys(chosen, (0.0,) * 4))
    scores = np.array(table.scores)
    for name, of in (("phrase.forward", table.pairs.source), ("phrase.backward", table.pairs.target)):
        raw = random.random(len(table)) + 0.05
        scores[:, SCORE_FEATURES.index(name)] = np.log(raw / np.bincount(of, raw)[of])
    lexicons = Lexicons(
        random_lexicon(random, table.source_vocabulary, table.target_vocabulary),
        random_lexicon(random, table.target_vocabulary, table.source_vocabulary),
    )
    vocabularies = table.source_vocabulary, table.target_vocabulary
    table = PhraseTable.create(table.pairs, scores, *vocabularies, reordering=None)
    return PhraseModel(table, (), default_weights(feature_names(table, 0)), word_lexicons=lexicons)


def random_lexicon(random: np.random.Generator, given: Vocabulary, words: Vocabulary) -> Lexicon:
    """Rows of random probabilities; a few word pairs are missing."""
    rows = [np.sort(random.permutation(np.arange(3, len(words)))[: random.integers(1, 4)]) for _ in range(len(given))]
    values = [random.dirichlet(np.ones(row.size)) for row in rows]
    offsets = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    return Lexicon(offsets, np.concatenate(rows).astype(np.int32), np.concatenate(values).astype(np.float32))


def random_space(random: np.random.Generator, model: PhraseModel, parts: int = 2) -> ListSpace:
    """Lists of random hypotheses, one sentence without any."""
    return ListSpace([random_lists(random, model, sizes) for sizes in ([3, 0, 5], [4, 2])[:parts]])


def random_lists(random: np.random.Generator, model: PhraseModel, sizes: list[int]) -> PhraseLists:
    count = sum(sizes)
    lengths = random.integers(0, 4, count)
    words = random.integers(1, 9, count)
    matches = np.minimum(random.integers(0, 9, (count, 4)), np.maximum(words[:, None] - np.arange(4), 0))
    matches = np.sort(matches, axis=1)[:, ::-1]
    matches = np.minimum(matches, np.maximum(words[:, None] - np.arange(4), 0))
    references = np.repeat(random.integers(1, 9, len(sizes)), sizes)
    arrays = ListArrays(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        random.integers(0, len(model.table), int(lengths.sum())).astype(np.int32),
        random.normal(0.0, 2.0, (count, len(model.feature_names))).astype(np.float32),
        np.column_stack([words, references, matches]).astype(np.int32),
    )
    return PhraseLists(arrays, model.feature_names, len(model.table))


def sentence_bleu(row: list[int], unigrams: float, bigrams: float, factor: float, eta: float = 5.0) -> float:
    """Formulas 18 and 19."""
    length, reference, *matches = row
    if not length:
        return 0.0
    precisions: list[float] = []
    for n, match in enumerate(matches):
        prior = (unigrams, bigrams)[n] if n < 2 else min(precisions[n - 1] ** 2 / precisions[n - 2], 1.0)
        precisions.append((match + eta * prior) / (max(length - n, 0) + eta))
    return math.exp(1 - factor * reference / length) * math.prod(precisions) ** 0.25


def hypotheses(space: ListSpace) -> list[list[tuple[list[float], list[int], float]]]:
    """Features, phrase pairs and sentence BLEU of each hypothesis of each sentence."""
    bleu, sentences = space.bleu, []
    for part in space.parts:
        arrays = part.arrays
        for s in range(len(part)):
            sentences.append(
                [
                    (
                        arrays.features[h].tolist(),
                        arrays.pairs[arrays.pair_offsets[h] : arrays.pair_offsets[h + 1]].tolist(),
                        sentence_bleu(arrays.statistics[h].tolist(), bleu.unigrams, bleu.bigrams, bleu.length_factor),
                    )
                    for h in range(arrays.hypotheses[s], arrays.hypotheses[s + 1])
                ]
            )
    return sentences


def pair_logs(model: PhraseModel, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The logarithms of the four features of each pair, given the probabilities of each family."""
    pairs, logs = model.table.pairs, {}
    for name in PHRASE:
        logs[name] = np.log(values[name])
    assert model.word_lexicons is not None
    for name, lexicon in zip(LEXICON, model.word_lexicons, strict=True):
        logs[name] = np.zeros(len(pairs))
        for row in range(len(pairs)):
            source, target = pairs.sources[pairs.source[row]], pairs.targets[pairs.target[row]]
            given, predicted = (source, target) if name == LEXICON[0] else (target, source)
            sums = [
                sum(values[name][place] for g in given for place in entries(lexicon, int(g), int(w))) for w in predicted
            ]
            logs[name][row] = sum(map(math.log, sums)) if all(sums) else -100.0
    return logs


def entries(lexicon: Lexicon, given: int, word: int) -> list[int]:
    """The place of p(word | given), if there is one."""
    begin, end = int(lexicon.offsets[given]), int(lexicon.offsets[given + 1])
    return [place for place in range(begin, end) if lexicon.words[place] == word]


def utility(
    model: PhraseModel,
    space: ListSpace,
    exponents: dict[str, float],
    values: dict[str, np.ndarray],
    prior: dict[str, np.ndarray],
) -> tuple[float, list[list[float]]]:
    """U, and P(E) [BLEU(E) − U_n] of each hypothesis."""
    new, old = pair_logs(model, values), pair_logs(model, prior)
    total, advantages = 0.0, []
    for sentence in hypotheses(space):
        if not sentence:
            advantages.append([])
            continue
        scores = []
        for features, rows, _ in sentence:
            score = sum(exponents[name] * value for name, value in zip(model.feature_names, features, strict=True))
            score += sum(exponents[name] * (new[name][row] - old[name][row]) for name in ALL for row in rows)
            scores.append(math.exp(score))
        posteriors = [score / sum(scores) for score in scores]
        expected = sum(p * bleu for p, (_, _, bleu) in zip(posteriors, sentence, strict=True))
        total += expected
        advantages.append([p * (bleu - expected) for p, (_, _, bleu) in zip(posteriors, sentence, strict=True)])
    return total, advantages
