"""Tuning in two stages by each method, resuming, saving, and combining as a stream."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_outputs import NAMES, REFERENCES, SEGMENTS, closest

from toledo.combination.combiner import Combiner
from toledo.combination.features import each_ngram, of_words
from toledo.combination.language_models import BIASES, BiasedModels, add_bias, estimate_model
from toledo.combination.lattice import NetworkLattice
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuners import as_paths
from toledo.combination.tuning import Expander, TuningRun, load_stages
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.errors import InputError, RunError
from toledo.forest.constructors import from_confusion_network
from toledo.forest.kbest import k_best
from toledo.forest.ngrams import NGramForest
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.metrics.bleu import BLEU
from toledo.runs.checkpoint import RUN, Checkpoint, digest
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import Vocabulary

QUICK = CombinationSettings(steps=5, rounds=1, entropy=(1.0,), features=("novel.bigram", "support.1", "support.3"))


def small_model(vocabulary: Vocabulary) -> LanguageModel:
    texts = [[vocabulary.add(word) for word in text] for own in SEGMENTS for text in own]
    lengths = np.array([len(text) for text in texts])
    return LanguageModel(
        estimate(Sentences.from_lengths(np.array([word for text in texts for word in text], np.int32), lengths), 3)
    )


def tuned(settings: CombinationSettings = QUICK, **options: object) -> Combiner:
    vocabulary = Vocabulary()
    model = small_model(vocabulary)
    return Combiner.tune(SEGMENTS, REFERENCES, NAMES, vocabulary, model, settings, **options)  # type: ignore[arg-type]


def texts(combiner: Combiner) -> list[str]:
    return [" ".join(combined.words) for combined in combiner.run(SEGMENTS)]


@pytest.fixture(scope="module")
def combiner() -> Combiner:
    return tuned()


@pytest.mark.parametrize("method", ["lattice-expected-bleu", "list-expected-bleu", "lattice-bleu"])
def test_each_method_learns_to_say_what_references_say(method: str) -> None:
    found = tuned(CombinationSettings(objective=method, entropy=(1.0,), l2=0.01, steps=20, rounds=1, threshold=0.01))  # type: ignore[arg-type]
    metric = BLEU(smooth_method="add-k")
    said = [text.split() for text in texts(found)]
    first = [own[0] for own in SEGMENTS]
    score, single = (
        metric.score(metric.corpus_statistics(some, REFERENCES).sum(axis=0)) for some in (said, first)
    )  # fmt: skip
    assert score > single
    assert sum(found.second.weights.shares.values()) == pytest.approx(1.0)


def test_the_number_of_threads_changes_nothing(combiner: Combiner) -> None:
    assert (
        tuned(run=TuningRun(threads=1)).second.to_table()
        == tuned(run=TuningRun(threads=2)).second.to_table()
        == combiner.second.to_table()
    )


def test_a_saved_combiner_says_the_same(combiner: Combiner, tmp_path: Path) -> None:
    combiner.save(tmp_path / "combination")
    loaded = Combiner.load(tmp_path / "combination")
    assert loaded.settings == combiner.settings
    assert loaded.second.to_table() == combiner.second.to_table()
    assert texts(loaded) == texts(combiner)


def test_an_interrupted_tuning_goes_on_to_the_same_result(combiner: Combiner, tmp_path: Path) -> None:
    work, again = tmp_path / "entropy-1", TuningRun(tmp_path, resume=True)
    tuned(run=TuningRun(tmp_path))
    content = json.loads((work / RUN).read_text())
    assert content["kind"] == "combination"
    assert {"entropy", "outputs", "references", "systems", "words match by"} <= content["configuration"].keys()
    first, second = load_stages(Checkpoint(work, content["configuration"], resume=True))
    with pytest.raises(RunError, match="holds an unfinished run"):
        tuned(run=TuningRun(tmp_path))
    (work / RUN).write_text(json.dumps({**content, "stages": content["stages"][:1]}))
    resumed = tuned(run=again)
    assert resumed.second.to_table() == second.to_table() == combiner.second.to_table()
    assert resumed.first.to_table() == first.to_table()
    with pytest.raises(RunError, match=r"settings differ: l2 was 0.0001, is 0.5"):
        tuned(replace(QUICK, l2=0.5), run=again)
    other = {**content["configuration"], "references": digest("others")}
    (work / RUN).write_text(json.dumps({**content, "configuration": other}))
    with pytest.raises(RunError, match="settings differ: references changed\n"):
        tuned(run=again)


def test_of_several_entropies_the_best_is_kept_and_bigrams_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, whole = [], Expander.each_to_bigrams

    def counted(expander: Expander, lattices: list[NetworkLattice]) -> list[NGramForest]:
        made.append(len(lattices))
        return whole(expander, lattices)

    monkeypatch.setattr(Expander, "each_to_bigrams", counted)
    both = tuned(replace(QUICK, entropy=(0.2, 1.0, 0.2)))
    assert made == [len(SEGMENTS)]
    single = [tuned(replace(QUICK, entropy=(entropy,))) for entropy in (0.2, 1.0)]
    best = max(single, key=lambda one: one.bleu["combination"] - one.report.scores["combination"].ter)
    assert both.second.to_table() == best.second.to_table()
    assert both.settings == best.settings
    assert both.report == best.report


def test_the_bias_with_the_best_bleu_of_all_is_kept(tmp_path: Path) -> None:
    vocabulary = Vocabulary()
    model = small_model(vocabulary)
    words = np.array([vocabulary.add(word) for word in ["mat", "the", "on", "gone", "has", "he"]], np.int32)
    odd = estimate_model([Sentences.from_lengths(words, np.array([3, 3]))], 3)
    quick = replace(QUICK, steps=3, skeletons=1)

    def tuned_with(given: LanguageModel | BiasedModels, bias: float | None, run: TuningRun) -> Combiner:
        return Combiner.tune(SEGMENTS, REFERENCES, NAMES, vocabulary, given, replace(quick, bias=bias), run=run)

    for pair in ((model, odd), (odd, model)):
        every = {bias: tuned_with(add_bias(*pair, bias), bias, TuningRun()) for bias in BIASES}
        scores = {bias: one.bleu["combination"] for bias, one in every.items()}
        assert len({*scores.values()}) > 1
        best = max(BIASES, key=scores.__getitem__)
        run = TuningRun(tmp_path / "run")
        found = tuned_with(BiasedModels(*pair), None, run)
        assert found.settings == every[best].settings
        assert found.settings.bias == best
        assert found.second.to_table() == every[best].second.to_table()
        assert dict(found.bleu) == dict(every[best].bleu)
        assert len([*(tmp_path / "run").iterdir()]) == len(BIASES)
        run.remove()
        assert not (tmp_path / "run").exists()


def test_scores_of_the_tuning_set_are_those_of_words(combiner: Combiner, tmp_path: Path) -> None:
    def bleu(outputs: list[list[str]]) -> float:
        return BLEU(smooth_method="none").score(
            BLEU(smooth_method="none").corpus_statistics(outputs, REFERENCES).sum(axis=0)
        )

    expected = {name: bleu([own[system] for own in SEGMENTS]) for system, name in enumerate(NAMES)}
    expected["MBR choice"] = bleu([closest(own) for own in SEGMENTS])
    expected["combination"] = bleu([text.split() for text in texts(combiner)])
    assert dict(combiner.bleu) == expected
    combiner.save(tmp_path / "combination")
    assert Combiner.load(tmp_path / "combination").bleu == expected


def test_run_reads_no_more_than_it_must(combiner: Combiner) -> None:
    read = 0

    def endless() -> Iterator[list[list[str]]]:
        nonlocal read
        while True:
            read += 1
            yield SEGMENTS[0]

    found = combiner.run(endless())
    assert next(found).words == next(found).words == next(combiner.run(SEGMENTS)).words
    assert read < 50


def test_any_decision_rule_works_on_the_lattice(combiner: Combiner) -> None:
    for rule in (MBR("bleu", size=20, reference_size=20), Consensus(size=20), LatticeMBR()):
        found = [combined.words for combined in combiner.run(SEGMENTS, rule)]
        assert found[2] == ("yes",)
        assert len(found) == 3


def test_new_words_empty_outputs_and_lists_are_combined(combiner: Combiner) -> None:
    unseen = [["zyx"], [], ["zyx", "!"]]
    assert next(combiner.run([unseen])).words[0] == "zyx"
    assert next(combiner.run([[[], [], []]])).words == ()
    lists = [[["a", "b"], ["a", "c"]], [["a", "b"]], []]
    assert next(combiner.run([lists])).words == ("a", "b")


def test_one_system_is_repeated() -> None:
    vocabulary = Vocabulary()
    found = Combiner.tune([own[:1] for own in SEGMENTS], REFERENCES, ["A"], vocabulary, settings=QUICK)
    assert [list(combined.words) for combined in found.run(own[:1] for own in SEGMENTS)] == [own[0] for own in SEGMENTS]


def test_a_combined_segment_shows_its_networks(combiner: Combiner) -> None:
    combined = next(combiner.run(SEGMENTS))
    assert combined.forest.provenance is not None
    assert combined.forest.provenance.max() < combined.lattice.network_of.size
    assert [network.skeleton for network in combined.lattice.networks] == [0, 1, 2]


def test_features_of_ones_own_and_sparse_ones_get_weights() -> None:
    own = [of_words("long", 1, lambda words: float(len(words[0]) > 4)), each_ngram(2)]
    found = tuned(replace(QUICK, min_segments=1), features=own).second.weights.features
    assert found["long"] != 0.0
    assert found["words:he~went"] != 0.0
    assert found["skeleton.A"] == 0.0
    assert (
        tuned(CombinationSettings(steps=5, rounds=1, skeleton_weights=True)).second.weights.features["skeleton.A"]
        != 0.0
    )


def test_wrong_shapes_and_settings_are_refused(combiner: Combiner) -> None:
    with pytest.raises(InputError, match="segment 21 has outputs of 2 systems, not of 3"):
        list(combiner.run([*[SEGMENTS[2]] * 20, SEGMENTS[0][:2]]))
    with pytest.raises(InputError, match="two have the same name"):
        Combiner.tune(SEGMENTS, REFERENCES, ["A", "A", "B"], Vocabulary())
    with pytest.raises(InputError, match="references for 2"):
        Combiner.tune(SEGMENTS, REFERENCES[:2], NAMES, Vocabulary())
    for wrong in (
        {"objective": "magic"},
        {"features": ("old.bigram",)},
        {"threshold": 0.0},
        {"features": ("support.5",)},
        {"folds": 1},
        {"metrics": ("ter",)},
        {"metrics": (), "objective": "lattice-bleu"},
        {"metrics": ("two*bleu",), "objective": "lattice-bleu"},
        {"select_by": ("nan*bleu",)},
    ):
        with pytest.raises(InputError):
            CombinationSettings(**wrong)  # type: ignore[arg-type]


def test_the_segment_that_is_too_long_is_named(combiner: Combiner) -> None:
    with pytest.raises(InputError, match="segment 18: outputs of up to 9000 words"):
        list(combiner.run([*[SEGMENTS[2]] * 17, [["la"] * 9000, ["a"], []]]))


def test_large_lattices_are_told_of(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    tuned(replace(QUICK, steps=1))
    assert "skeletons" not in caplog.text
    monkeypatch.setattr("toledo.combination.combiner.MANY_EDGES", 10)
    tuned(replace(QUICK, steps=1))
    assert "fewer skeletons" in caplog.text


def test_paths_stand_side_by_side_with_their_scores() -> None:
    slots = [{"a": {"x": 1.0}, None: {"x": 2.0}}, {"b": {"x": 3.0}, "c": {"x": 4.0}}]
    forest = from_confusion_network(slots, ["x"], Vocabulary())  # type: ignore[arg-type]
    paths = list(k_best(forest, forest.scores({"x": 1.0})))
    alone = as_paths(forest, [path.edges for path in paths])
    again = list(k_best(alone, alone.scores({"x": 1.0})))
    assert [(path.words, path.score) for path in again] == [(path.words, path.score) for path in paths]
    assert alone.nodes == sum(path.edges.size for path in paths) - len(paths) + 1
