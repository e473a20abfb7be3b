"""Moses' rules for several phrase tables, from plain dictionaries: which options a span has, and their derivations."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from beam_twin import language_model
from small_tables import Words, make_table

from toledo.model import PhraseModel, SearchSettings, feature_names
from toledo.phrases.several import recoded, unite
from toledo.phrases.table import SCORE_FEATURES, PhraseTable
from toledo.text.corpus import Sentences
from toledo.weights import Weights

Content = dict[tuple[Words, Words], tuple[float, ...]]


class PlainOption(NamedTuple):
    begin: int
    end: int
    target: Words
    scores: dict[str, float]


def tables_of(contents: Sequence[Content], reordering: bool = False) -> list[PhraseTable]:
    """Tables over the vocabularies of the first one."""
    made = [make_table(content, reordering) for content in contents]
    return [made[0], *(recoded(one, made[0].source_vocabulary, made[0].target_vocabulary) for one in made[1:])]


def united_model(
    contents: Sequence[Content], back_off: Sequence[int], orders: tuple[int, ...], values: Sequence[float]
) -> PhraseModel:
    table = unite(tables_of(contents), back_off)
    names = feature_names(table, len(orders))
    weights = {name: values[k % len(values)] for k, name in enumerate(names)} | {"oov": 1.0}
    models = tuple(language_model(table, order) for order in orders)
    return PhraseModel(table, models, Weights(weights), SearchSettings(None, table_limit=0))


def plain_options(contents: Sequence[Content], back_off: Sequence[int], words: Sequence[str]) -> list[PlainOption]:
    """The options of a sentence: a pair of two tables is two options, each with the scores of its own table only."""
    found: list[PlainOption] = []
    for begin in range(len(words)):
        for end in range(begin + 1, len(words) + 1):
            here: list[PlainOption] = []
            for number, (content, longest) in enumerate(zip(contents, back_off, strict=True)):
                if number and longest and (here or end - begin > longest):
                    continue
                names = [f"{name}.{number}" if number else name for name in SCORE_FEATURES]
                here += [
                    PlainOption(begin, end, target, dict(zip(names, scores, strict=True)))
                    for (source, target), scores in content.items()
                    if source == tuple(words[begin:end])
                ]
            if not here and end == begin + 1:
                here = [PlainOption(begin, end, (words[begin],), {"oov": -100.0})]
            found += here
    return found


def plain_derivations(options: list[PlainOption], length: int) -> Iterator[tuple[PlainOption, ...]]:
    """All sequences of options that translate each word once, in any order."""

    def extend(done: frozenset[int], steps: tuple[PlainOption, ...]) -> Iterator[tuple[PlainOption, ...]]:
        if len(done) == length:
            yield steps
            return
        for one in options:
            span = frozenset(range(one.begin, one.end))
            if not span & done:
                yield from extend(done | span, (*steps, one))

    yield from extend(frozenset(), ())


def plain_features(model: PhraseModel, steps: Sequence[PlainOption]) -> dict[str, float]:
    total = dict.fromkeys(model.feature_names, 0.0)
    text: list[str] = []
    last = 0
    for one in steps:
        for name, value in one.scores.items():
            total[name] += value
        total["distortion"] -= abs(one.begin - last)
        total["word.penalty"] -= len(one.target)
        total["phrase.penalty"] += 1
        text += one.target
        last = one.end
    ids = model.target_vocabulary.ids(text)
    for number, lm in enumerate(model.language_models):
        scored = lm.score_sentences(Sentences.from_lengths(ids, np.array([ids.size])))[0]
        total[model.feature_names[number]] = float(scored) * math.log(10)
    return total


def plain_score(model: PhraseModel, features: dict[str, float]) -> float:
    return sum(model.weights.get(name, 0.0) * value for name, value in features.items())
