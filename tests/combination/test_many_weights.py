"""Weights for single systems, words and phrases: their values, which of them there are, and many at once."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from oracle import derivations
from small_outputs import NAMES, REFERENCES, SEGMENTS, Texts, combined, lattice_of, tuned

from toledo.combination.combiner import Combiner
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuners import Ascent
from toledo.combination.tuning import CombinationTuning, Expander, segments_with
from toledo.forest.assemble import split
from toledo.forest.forest import Forest, edges_of_sentences
from toledo.metrics.bleu import BLEU
from toledo.objectives.xbleu import XBLEU
from toledo.text.vocabulary import Vocabulary

SPARSE = CombinationSettings(
    features=("novel.bigram", "system.1", "system.2", "words.1", "words.2"),
    skeleton_weights=True,
    min_segments=1,
    entropy=(1.0,),
    steps=5,
    threshold=0.01,
)


def tuning_of(settings: CombinationSettings) -> CombinationTuning:
    vocabulary = Vocabulary()
    lattices = [lattice_of(own, vocabulary) for own in SEGMENTS]
    return CombinationTuning(lattices, REFERENCES, NAMES, Expander(settings, None, threads=1))


def sparse_totals(part: Forest, edges: tuple[int, ...]) -> Counter[str]:
    totals: Counter[str] = Counter()
    assert part.sparse is not None
    for edge in edges:
        for place in range(part.sparse.arrays.offsets[edge], part.sparse.arrays.offsets[edge + 1]):
            totals[part.sparse.names[part.sparse.arrays.ids[place]]] += int(part.sparse.arrays.values[place])
    return totals


def test_features_of_a_path_are_counts_in_its_text_in_both_stages() -> None:
    tuning = tuning_of(SPARSE)
    stages = tuning.tune(1.0)
    second = tuning.expander.to_order(tuning.bigrams.voted, tuning.lattices, stages.first)
    for forest in (tuning.bigrams.voted.forest, second.forest):
        for own, (part, _, _) in zip(SEGMENTS, split(forest), strict=True):
            for tree in derivations(part)[:20]:
                text = part.vocabulary.words(tree.words)
                expected = Counter(f"words:{word}" for word in text)
                expected += Counter(f"words:{one}~{other}" for one, other in pairwise(text))
                for name, output in zip(NAMES, own, strict=True):
                    expected[f"system.1.{name}"] = sum(word in output for word in text)
                    expected[f"system.2.{name}"] = sum(pair in [*pairwise(output)] for pair in pairwise(text))
                found = sparse_totals(part, tree.edges)
                assert sum(found.pop(f"skeleton.{name}", 0) for name in NAMES) >= 1
                assert found == +expected


def test_rare_words_get_no_weight() -> None:
    every, some = (tuning_of(replace(SPARSE, min_segments=least)).bigrams for least in (1, 2))
    forest = every.voted.forest
    assert forest.sparse is not None
    counts = Counter[str]()
    for part, _, _ in split(forest):
        assert part.sparse is not None
        counts.update({part.sparse.names[number] for number in set(part.sparse.arrays.ids.tolist())})
    found = segments_with(forest.sparse, edges_of_sentences(forest.shape))
    assert dict(zip(forest.sparse.names, found.tolist(), strict=True)) == dict(counts)
    rare = {name for name, count in counts.items() if count < 2 and not name.startswith("skeleton.")}
    assert rare
    assert {*every.names} - {*some.names} == rare
    assert not rare & {*some.start.features}


def test_weights_of_sparse_features_have_a_penalty_of_their_own() -> None:
    problem = tuning_of(SPARSE).bigrams
    penalties = problem.penalties(0.1, 0.7)
    point = problem.first + np.random.default_rng(1).normal(0.0, 0.2, problem.first.size)
    names = [*NAMES, *problem.names]
    assert [names[place] for place in np.flatnonzero(penalties == 0.1)][:5] == [*NAMES, "word", "null"]
    assert {names[place].split(":")[0].split(".")[0] for place in np.flatnonzero(penalties == 0.7)} == {
        "skeleton", "system", "words",
    }  # fmt: skip
    _, gradient = problem.value_and_gradient(XBLEU(2), 0.5, penalties, point)
    for place in range(0, point.size, 3):
        step = np.zeros(point.size)
        step[place] = 1e-5
        values = [problem.value_and_gradient(XBLEU(2), 0.5, penalties, point + sign * step)[0] for sign in (1, -1)]
        assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)
    loose, tight = (Ascent(1.0, steps=5, sparse_l2=l2).tune(problem, 2).weights.features for l2 in (1e-4, 10.0))
    sizes = [sum(abs(own[name]) for name in own if name.startswith("words:")) for own in (loose, tight)]
    assert sizes[1] < 0.1 * sizes[0]


def bleu(texts: list[list[str]], references: list[list[list[str]]]) -> float:
    metric = BLEU(smooth_method="none")
    return metric.score(metric.corpus_statistics(texts, references).sum(axis=0))


def related_outputs(segments: int, systems: int, seed: int) -> tuple[list[Texts], list[Texts]]:
    """Outputs of systems of four families, which make most of their errors together; one family makes fewer."""
    random = np.random.default_rng(seed)
    said, references = [], []
    for _ in range(segments):
        text = [f"w{word}" for word in random.zipf(1.3, 9).clip(max=400)]
        families = [_replaced(text, 0.15 if family == 0 else 0.4, random) for family in range(4)]
        references.append([text])
        said.append([_replaced(families[system % 4], 0.05, random) for system in range(systems)])
    return said, references


def _replaced(text: list[str], share: float, random: np.random.Generator) -> list[str]:
    return [f"w{random.zipf(1.3) % 400}" if random.random() < share else word for word in text]


def test_a_thousand_weights_for_32_systems_are_no_harder_than_a_few(tmp_path: Path) -> None:
    """On segments that were not tuned on, the simplex method is worse with far fewer weights."""
    said, references = related_outputs(60, 32, seed=1)
    known, meant = related_outputs(60, 32, seed=2)
    settings = replace(
        SPARSE, features=(*SPARSE.features, "words.3"), skeletons=2, folds=0, rule="viterbi", steps=25, threshold=1e-4
    )
    many = tuned(said, references, settings)
    assert len(many.second.weights.features) > 1000
    assert sum(value != 0.0 for value in many.second.weights.features.values()) > 1000
    found = combined(many, known)
    many.save(tmp_path / "combination")
    assert combined(Combiner.load(tmp_path / "combination"), known) == found
    few = replace(settings, objective="lattice-bleu", features=("novel.bigram",), skeleton_weights=False)
    simplex = combined(tuned(said, references, few), known)
    assert bleu(found, meant) > bleu(simplex, meant)
    assert bleu(found, meant) > max(bleu([own[system] for own in known], meant) for system in range(32))
