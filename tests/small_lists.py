"""Small n-best lists with references, for tuners."""

from __future__ import annotations

import numpy as np

from toledo.forest.constructors import ListEntry, from_nbest
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.objectives.lists import sentence_gains
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import Examples

WORDS = [f"w{i}" for i in range(9)]
BLEU_4 = BLEU(smooth_method="none")


def random_examples(
    seed: int,
    segments: int = 12,
    size: int = 8,
    features: int = 3,
    planted: np.ndarray | None = None,
    sparse: int = 0,
    metric: Metric = BLEU_4,
    base: bool = False,
) -> Examples:
    """Hypotheses are references with some words changed; with `planted` weights the score tells how good they are.

    The last `sparse` features are sparse.
    """
    random = np.random.default_rng(seed)
    references = [[random.choice(WORDS, random.integers(6, 12)).tolist()] for _ in range(segments)]
    texts = [[_damaged(some[0], random) for _ in range(random.integers(2, size + 1))] for some in references]
    values = [random.normal(size=(len(some), features)) for some in texts]
    names = [f"f{k}" for k in range(features)]

    def build() -> Examples:
        vocabulary, forests = Vocabulary(WORDS), []
        for i, some in enumerate(texts):
            hypotheses = [
                ListEntry(words, dict(zip(names, row, strict=True)), float(i % 3) if base else 0.0)
                for words, row in zip(some, values[i].tolist(), strict=True)
            ]
            forests.append(from_nbest(hypotheses, names[: features - sparse], vocabulary))
        return Examples(forests, references, metric)

    if planted is not None:
        lists = build().lists
        gains = np.split(10.0 * sentence_gains(lists), lists.offsets[1:-1])
        for rows, wanted in zip(values, gains, strict=True):
            rows += np.outer(wanted - rows @ planted, planted) / (planted @ planted)
    return build()


def _damaged(words: list[str], random: np.random.Generator) -> list[str]:
    kept = [word if random.random() > 0.3 else str(random.choice(WORDS)) for word in words if random.random() > 0.1]
    return kept or words[:1]


def alignment(found: np.ndarray, wanted: np.ndarray) -> float:
    """The cosine of the angle between two weight vectors."""
    return float(found @ wanted / np.sqrt((found @ found) * (wanted @ wanted)))
