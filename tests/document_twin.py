"""Document search by definition: every feature of a state from its phrases alone, and all states of a tiny document."""

import math
from collections import Counter
from itertools import product

import numpy as np
from beam_twin import Steps, derivations, features_of

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.cache import CacheModel
from toledo.search.document.models.consistency import ComparedTranslations
from toledo.search.document.models.context import ContextModel
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.models.readability import LIX, OVIX, LengthParity, TypeTokenRatio
from toledo.search.document.models.semantic import SemanticModel
from toledo.search.document.models.topic import TopicModel

Sentence = list[str]
Document = tuple[Steps, ...]


def text_of(model: PhraseModel, source: Sentence, steps: Steps) -> list[str]:
    return [word for begin, _, pair in steps for word in ([source[begin]] if pair < 0 else model.table[pair].target)]


def document_features(
    model: PhraseModel, sources: list[Sentence], state: Document, models: list[DocumentModel], references: list
) -> dict[str, float]:
    """All features: sums over sentences, then those of document models."""
    total: dict[str, float] = dict.fromkeys(model.feature_names, 0.0)
    for source, steps in zip(sources, state, strict=True):
        for name, value in features_of(model, source, steps).items():
            total[name] += value
    texts = [text_of(model, source, steps) for source, steps in zip(sources, state, strict=True)]
    for one in models:
        total[one.name] = value_of(one, model, sources, state, texts, references)
    return total


def value_of(
    one: DocumentModel,
    model: PhraseModel,
    sources: list[Sentence],
    state: Document,
    texts: list[Sentence],
    references: list,
) -> float:
    words = [word for text in texts for word in text if any(map(str.isalnum, word))]
    size, types = len(words), len(set(words))
    if isinstance(one, LengthParity):
        odd = sum(len(text) % 2 for text in texts)
        return math.log(max(odd, len(texts) - odd) / len(texts))
    if isinstance(one, TypeTokenRatio):
        return types / max(size, 1)
    if isinstance(one, OVIX):
        return math.log(size) / math.log(2 - math.log(min(types, size - 1)) / math.log(size)) if size > 1 else 0.0
    if isinstance(one, LIX):
        long = sum(sum(map(str.isalpha, word)) > 6 for word in words)
        return size / len(texts) + 100 * long / max(size, 1)
    if isinstance(one, ComparedTranslations):
        return consistency(one, model, sources, state)
    if isinstance(one, CacheModel):
        kept = [word for text in texts for word in text if sum(map(str.isalpha, word)) >= one.shortest]
        return sum(kept.count(word) > 1 for word in kept) / max(len(kept), 1)
    if isinstance(one, TopicModel):
        rows = {word: row for row, word in enumerate(one.loaded.words)}
        vectors = np.array([one.loaded.vectors[rows[word]] for text in texts for word in text if word in rows])
        lengths = np.sqrt((vectors.astype(float) ** 2).sum(axis=1)) if len(vectors) else np.zeros(1)
        return float(np.sqrt((vectors.sum(axis=0, dtype=float) ** 2).sum()) / lengths.sum()) if len(vectors) else 0.0
    if isinstance(one, ContextModel):
        line = " ".join(" ".join([*text, "<br>"]) for text in texts)
        return math.log(10.0) * sum(part.log10 for part in one.loaded.full_scores(line, eos=False))
    if isinstance(one, SemanticModel):
        return semantic(one, texts)
    assert isinstance(one, BLEUModel)
    metric = BLEU(smooth_method=one.smoothing)
    return metric.score(metric.corpus_statistics(texts, references, threads=1).sum(axis=0))


def consistency(one: ComparedTranslations, model: PhraseModel, sources: list[Sentence], state: Document) -> float:
    """The probability that another occurrence of a source word has the same translation, by clusters if any."""
    letters = getattr(one, "letters", 99)
    seen: dict[str, list[tuple[str, ...]]] = {}
    for source, steps in zip(sources, state, strict=True):
        for begin, end, pair in steps:
            for k in range(begin, end):
                if sum(map(str.isalpha, source[k])) < one.shortest or source[k] in one.ignored:
                    continue
                translation: tuple[str, ...] = (source[k],)
                if pair >= 0:
                    entry = model.table[pair]
                    translation = tuple(entry.target[j] for i, j in sorted(entry.alignment) if i == k - begin)
                alike = tuple(word[:letters] for word in translation)
                seen.setdefault(source[k][:letters], []).append(alike)
    repeated = [found for found in seen.values() if len(found) > 1]
    alike = sum(sum(c * (c - 1) for c in Counter(found).values()) / (len(found) - 1) for found in repeated)
    return alike / max(sum(map(len, repeated)), 1)


def semantic(one: SemanticModel, texts: list[Sentence]) -> float:
    rows = {word: row for row, word in enumerate(one.space.words)}
    words = [rows[word] for text in texts for word in text if word in rows]
    total = 0.0
    for i in range(1, len(words)):
        mean = one.space.vectors[words[max(i - one.context, 0) : i]].sum(axis=0)
        own = one.space.vectors[words[i]]
        if mean.any():
            cosine = mean @ own / math.sqrt(mean @ mean) / math.sqrt(own @ own)
            place = int(0.5 * (cosine + 1) * one.space.worth.size)
            total += one.space.worth[min(place, one.space.worth.size - 1)]
    return float(total)


def all_states(model: PhraseModel, sources: list[Sentence]) -> list[Document]:
    return list(product(*(sorted(derivations(model, source)) for source in sources)))


def posterior(scores: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    weights = np.exp((scores - scores.max()) / temperature)
    return weights / weights.sum()
