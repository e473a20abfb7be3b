"""latBLEU: the second stage is for lists of the best paths, against all paths of small lattices one by one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from oracle import derivations
from small_outputs import NAMES, REFERENCES, SEGMENTS, lattice_of

from toledo.combination.combiner import Combiner
from toledo.combination.language_models import cut_order, estimate_model
from toledo.combination.lattice import NetworkLattice
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuning import CombinationTuning, Expander
from toledo.combination.votes import TunedStage, VotedForest, with_votes
from toledo.forest.assemble import split
from toledo.language_model.model import LanguageModel
from toledo.metrics.bleu import BLEU
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import Vocabulary

SETTINGS = CombinationSettings(objective="lattice-bleu", entropy=(1.0,), features=("novel.bigram",), rule="viterbi")
SIZE = 6
Texts = list[tuple[int, ...]]


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toledo.combination.tuning.LIST_SIZE", SIZE)


def sentences(texts: list[list[int]]) -> Sentences:
    return Sentences.from_lengths(
        np.array([word for text in texts for word in text], np.int32), np.array([len(text) for text in texts])
    )


def problem() -> tuple[CombinationTuning, list[NetworkLattice], LanguageModel]:
    vocabulary = Vocabulary()
    lattices = [lattice_of(own, vocabulary) for own in SEGMENTS]
    texts = [[vocabulary.add(word) for word in text] for own in SEGMENTS for text in own if text]
    model = estimate_model([sentences(texts)], 3)
    return CombinationTuning(lattices, REFERENCES, NAMES, Expander(SETTINGS, model)), lattices, model


def scored_texts(voted: VotedForest, stage: TunedStage) -> list[dict[tuple[int, ...], float]]:
    """The score of the best path of each text of each segment, all paths written out."""
    scores = voted.scores(stage.weights, 1)
    found: list[dict[tuple[int, ...], float]] = []
    for part, begin, end in split(voted.forest):
        own: dict[tuple[int, ...], float] = {}
        for tree in derivations(part):
            own[tree.words] = max(own.get(tree.words, -math.inf), tree.score(scores[begin:end]))
        found.append(own)
    return found


def bleu(texts: Texts, vocabulary: Vocabulary) -> float:
    metric = BLEU(smooth_method="none")
    words = [vocabulary.words(list(text)) for text in texts]
    return metric.score(metric.corpus_statistics(words, REFERENCES).sum(axis=0))


def test_the_second_stage_has_the_best_texts_of_the_first_with_the_whole_language_model() -> None:
    tuning, lattices, model = problem()
    found = tuning.tune(1.0)
    bigrams = tuning.bigrams.voted
    assert cut_order(model, 2).order < model.order
    second = with_votes(tuning.expander.to_order(bigrams, lattices, found.first).forest, lattices)
    for all_texts, (part, _, _) in zip(scored_texts(bigrams, found.first), split(second.forest), strict=True):
        trees = derivations(part)
        assert len(trees) == min(SIZE, len(all_texts))
        assert len({tree.words for tree in trees}) == len(trees)
        worst = min(all_texts[tree.words] for tree in trees)
        assert sum(score > worst + 1e-6 for score in all_texts.values()) < len(trees)
        for tree in trees:
            value = part.features[list(tree.edges), part.feature_names.index("lm")].sum()
            whole = model.score_sentences(sentences([list(tree.words)]))[0] * math.log(10.0)
            assert value == pytest.approx(whole, abs=1e-4)
    assert max(len(own) for own in scored_texts(bigrams, found.first)) > SIZE  # so that lists leave something out


def test_votes_of_a_listed_path_are_those_that_it_had() -> None:
    tuning, lattices, _ = problem()
    first = tuning.tune(1.0).first
    only_votes = replace(first, weights=replace(first.weights, features=first.weights.features.updated(
        list(first.weights.features), np.zeros(len(first.weights.features)))))  # fmt: skip
    second = with_votes(tuning.expander.to_order(tuning.bigrams.voted, lattices, only_votes).forest, lattices)
    before, after = scored_texts(tuning.bigrams.voted, only_votes), scored_texts(second, only_votes)
    for old, new in zip(before, after, strict=True):
        for text, score in new.items():
            assert score == pytest.approx(old[text], abs=1e-5)
        assert sorted(new.values()) == pytest.approx(sorted(old.values())[-len(new) :], abs=1e-5)


def test_weights_are_worth_the_bleu_of_the_best_text_of_each_list() -> None:
    tuning, lattices, _ = problem()
    found = tuning.tune(1.0)
    second = with_votes(tuning.expander.to_order(tuning.bigrams.voted, lattices, found.first).forest, lattices)
    vocabulary = lattices[0].forest.vocabulary
    best = [max(own, key=own.__getitem__) for own in scored_texts(second, found.second)]
    assert found.second.value == pytest.approx(bleu(best, vocabulary))
    assert [tuple(text.tolist()) for text in tuning.texts(found)] == best
    start = [max(own, key=own.__getitem__) for own in scored_texts(second, found.first)]
    assert found.second.value >= bleu(start, vocabulary) > 0.0


def test_outputs_are_combined_by_lists_too() -> None:
    vocabulary = Vocabulary()
    combiner = Combiner.tune(SEGMENTS, REFERENCES, NAMES, vocabulary, settings=SETTINGS)
    for combined in combiner.run(SEGMENTS):
        trees, features = derivations(combined.forest), combiner.second.weights.features
        assert len(trees) <= SIZE
        scores = combined.forest.scores(features)
        best = max(trees, key=lambda tree: tree.score(scores))
        assert tuple(vocabulary.words(list(best.words))) == combined.words
    assert next(combiner.run([[[], [], []]])).words == ()
