"""The training loop on small models: schedules, selection, checkpoints; folds and lists of a whole text."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from small_refinements import random_model, random_space

from toledo import storage
from toledo.errors import InputError, RunError
from toledo.forest.kbest import k_best
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.phrases.lexicon import model1_weights
from toledo.phrases.several import rows_in
from toledo.phrases.training import PhraseTraining
from toledo.phrases.word_alignment.aligner import AlignmentTraining, align
from toledo.refinement import procedure as module
from toledo.refinement import training_lists
from toledo.refinement.ascent import Growth, softmax
from toledo.refinement.distributions import LEXICON, PHRASE, has_word_sums, refined_model, with_word_sums
from toledo.refinement.loop import method_of, refine
from toledo.refinement.objective import TrainedParameters
from toledo.refinement.procedure import Procedure
from toledo.refinement.settings import RefineSettings
from toledo.refinement.training_lists import make_folds, phrase_lists, training_of
from toledo.runs.checkpoint import Checkpoint
from toledo.runs.history import History
from toledo.sample.corpus import generate
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.search.steps import steps_of
from toledo.text.corpus import read_parallel, read_segments, read_sentences
from toledo.training import Training, train
from toledo.tuning.tuners.mira import MIRA


def scores(*values):
    """A validation that gives these scores one after the other, then the last one again and again."""
    left = list(values)
    return lambda model: left.pop(0) if len(left) > 1 else left[0]


def small(seed=1):
    random = np.random.default_rng(seed)
    model = with_word_sums(random_model(random))
    return model, random_space(random, model)


def paper(parameters, tau, **others):
    return RefineSettings(**{"method": "growth", "parameters": parameters, "tau": tau, **others})


def unchanged(model, number):
    return model


def test_two_stages_one_after_the_other():
    model, space = small()
    settings = paper("two-stage", 0.0, iterations=4, patience=2)
    found = refine(model, space, settings, tune=unchanged, validate=scores(1.0, 2.0, 3.0, 2.5, 2.4, 2.0, 4.0, 0.0))
    stages = [(one.number, one.stage, one.trained) for one in found.history.all_rounds]
    assert [one[1] for one in stages] == [-1, 0, 0, 0, 0, 1, 1, 1, 1]
    assert stages[1][2] == PHRASE
    assert stages[5][2] == LEXICON
    assert found.history.best == 6
    # The second stage begins with the best state of the first: in it, phrase probabilities are those of iteration 2.
    first = refine(
        model, space, replace(settings, parameters="phrase", iterations=2), tune=unchanged, validate=scores(1, 2, 3)
    )
    columns = [model.table.feature_names.index(name) for name in PHRASE]
    np.testing.assert_array_equal(found.model.table.scores[:, columns], first.model.table.scores[:, columns])


def test_the_baseline_is_kept_if_nothing_is_better():
    model, space = small()
    found = refine(model, space, paper("both", 0.01, patience=2), tune=unchanged, validate=scores(5.0, 4.0))
    assert found.history.best == 0
    assert len(found.history.rounds) == 2
    np.testing.assert_array_equal(found.model.table.scores, model.table.scores)


def test_weights_are_tuned_between_iterations():
    model, space = small()
    asked = []

    def tune(given, number):
        asked.append((number, given.table.scores.copy()))
        return given.with_weights(
            replace(given.weights, values_by_name={**given.weights, "phrase.forward": 0.1 * number})
        )

    settings = paper("phrase", 0.0, iterations=4, tune_every=2)
    found = refine(model, space, settings, tune=tune, validate=scores(*range(9)))
    assert [number for number, _ in asked] == [2, 4]
    assert not np.array_equal(asked[0][1], asked[1][1])
    assert found.model.weights["phrase.forward"] == pytest.approx(0.4)
    assert [one.weights["phrase.forward"] for one in found.history.all_rounds] == pytest.approx(
        [0.2, 0.2, 0.2, 0.2, 0.4]
    )


def test_families_without_weight_are_not_trained():
    model, space = small()
    weights = replace(model.weights, values_by_name={**model.weights, "phrase.backward": 0.0})
    settings = paper("phrase", 0.0, iterations=1)
    found = refine(model.with_weights(weights), space, settings, tune=unchanged, validate=scores(1.0, 2.0))
    assert found.history.last.trained == ("phrase.forward",)
    column = model.table.feature_names.index("phrase.backward")
    np.testing.assert_array_equal(found.model.table.scores[:, column], model.table.scores[:, column])


@pytest.mark.parametrize("method", ["growth", "lbfgs"])
def test_interrupted_and_resumed_gives_the_same_model(tmp_path: Path, method):
    model, space = small()
    settings = paper("two-stage", 1e-3, iterations=3, patience=2, method=method, steps=3, distance="kl", sharpness=5.0)

    def validate(given):  # depends on the model alone, as a true one
        return float(np.sin(1000 * given.table.scores.sum(dtype=np.float64)))

    def tune(given, number):
        weights = {**given.weights, "lexicon.forward": 0.2 + 0.01 * number}
        return given.with_weights(replace(given.weights, values_by_name=weights))

    whole = refine(model, space, settings, tune=tune, validate=validate)
    for stop in range(1, len(whole.history.all_rounds) + 1):
        calls = 0

        def interrupted(given, stop=stop):
            nonlocal calls
            calls += 1
            if calls == stop:
                raise KeyboardInterrupt
            return validate(given)

        checkpoint = Checkpoint(tmp_path / str(stop), {"settings": "the same"}, resume=True)
        with pytest.raises(KeyboardInterrupt):
            refine(model, space, settings, tune=tune, validate=interrupted, checkpoint=checkpoint)
        again = refine(model, space, settings, tune=tune, validate=validate, checkpoint=checkpoint)
        np.testing.assert_array_equal(again.model.table.scores, whole.model.table.scores)
        assert again.model.weights == whole.model.weights
        times = {"search_seconds": 0.0, "tuning_seconds": 0.0}
        assert [replace(one, **times) for one in again.history.all_rounds] == [
            replace(one, **times) for one in whole.history.all_rounds
        ]
        left = {path.name for path in (tmp_path / str(stop)).iterdir()}
        assert left == {"history.json", f"round-{again.history.best}", f"round-{again.history.last.number}"}
    with pytest.raises(RunError, match="settings was the same, is other"):
        Checkpoint(tmp_path / "1", {"settings": "other"}, resume=True).load("refinement", History)


def test_settings_are_checked():
    wrong = [{"parameters": "x"}, {"iterations": 0}, {"sharpness": 0.0}, {"tau": -1.0}, {"tau": np.inf}]
    wrong += [{"lexicon_tau": -1.0}, {"distance": "x"}, {"level": "x"}, {"search": "itg"}, {"folds": 0}]
    for one in wrong:
        with pytest.raises(InputError, match=next(iter(one))):
            RefineSettings(**one)
    with pytest.raises(InputError, match="support KL only"):
        RefineSettings(method="growth", distance="ratios")
    with pytest.raises(InputError, match="BLEU of the corpus only"):
        RefineSettings(on="forests", level="sentence")


def test_defaults_depend_on_method_and_distance():
    ours, kl, paper = (RefineSettings(**one).resolved() for one in ({}, {"distance": "kl"}, {"method": "growth"}))
    assert (ours.tau, ours.lexicon_tau, ours.level, ours.sharpness, ours.iterations) == (0.2, 0.02, "corpus", 20.0, 1)
    assert (kl.tau, kl.lexicon_tau, kl.level, kl.sharpness) == (1e-5, 1e-5, "corpus", 20.0)
    assert (paper.distance, paper.level, paper.sharpness, paper.iterations) == ("kl", "sentence", 5.0, 10)
    assert {(one.folds, one.objective) for one in (ours, kl, paper)} == {(10, "corpus-expected-bleu")}
    he_deng = RefineSettings(method="he-deng").resolved()
    assert (he_deng.distance, he_deng.level, he_deng.sharpness, he_deng.iterations) == ("kl", "sentence", 1.0, 10)
    assert (he_deng.folds, he_deng.objective, method_of(he_deng)) == (1, "mert", Growth(published=True))
    assert RefineSettings(method="he-deng", folds=4, objective="pro").resolved().folds == 4
    for given, expected in (
        ({"tau": 1.0}, (1.0, 0.1)),
        ({"tau": 0.0}, (0.0, 0.0)),
        ({"tau": 1.0, "distance": "kl"}, (1.0, 1.0)),
        ({"tau": 1.0, "method": "growth"}, (1.0, 1.0)),
        ({"lexicon_tau": 0.5}, (0.2, 0.5)),
        ({"lexicon_tau": 0.0, "distance": "kl"}, (1e-5, 0.0)),
    ):
        found = RefineSettings(**given).resolved()
        assert (found.tau, found.lexicon_tau) == expected
    assert RefineSettings(method="growth", on="forests").resolved().level == "corpus"


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """A small corpus with a model of it."""
    folder = tmp_path_factory.mktemp("sample")
    generate(train=300, tune=20, test=20).save(folder)
    corpus = read_parallel(folder / "train.src", folder / "train.trg")
    config = Training(phrases=PhraseTraining(max_length=3), distortion_limit=3)
    train(corpus, config, threads=1).save(folder / "model")
    return folder


def loaded(folder):
    model = PhraseModel.load(folder / "model")
    vocabularies = model.source_vocabulary, model.target_vocabulary
    return model, read_parallel(folder / "train.src", folder / "train.trg", vocabularies)


def test_word_sums_replace_lexical_weights(sample):
    model, _ = loaded(sample)
    assert not has_word_sums(model)
    changed = with_word_sums(model)
    assert has_word_sums(changed)
    # Training that has not moved gives back the same model.
    parameters = TrainedParameters(changed, PHRASE + LEXICON, np.arange(50, dtype=np.int32))
    same = refined_model(parameters, {name: one.prior for name, one in parameters.families.items()})
    np.testing.assert_array_equal(same.table.scores, changed.table.scores)
    for before, after in zip(changed.word_lexicons, same.word_lexicons, strict=True):
        np.testing.assert_array_equal(after.probabilities, before.probabilities)


def test_what_has_not_moved_keeps_its_bits():
    model, space = small(3)
    scores = np.array(model.table.scores)
    scores[:, [model.table.feature_names.index(name) for name in LEXICON]] += 3e-4  # sums, but for rounding
    model = replace(model, table=replace(model.table, scores=scores))
    assert has_word_sums(model)
    parameters = TrainedParameters(model, PHRASE + LEXICON, space.used)
    values = {name: one.prior.copy() for name, one in parameters.families.items()}
    for name, family in parameters.families.items():
        sizes = np.bincount(family.groups.of)  # one distribution of each family moves: the last of the largest
        own = np.flatnonzero(family.groups.of == np.flatnonzero(sizes == sizes.max())[-1])
        values[name][own] = softmax(family.groups, 2.0 * np.log(family.prior))[own]
    found = refined_model(parameters, values)
    for name in PHRASE:
        column, family = model.table.feature_names.index(name), parameters.families[name]
        moved = values[name] != family.prior
        assert moved.any()
        np.testing.assert_array_equal(found.table.scores[~moved, column], scores[~moved, column])
        logs = np.log(family.probabilities(values[name]))
        np.testing.assert_allclose(found.table.scores[:, column], logs, rtol=1e-5, atol=1e-6)
    for name, before, after in zip(LEXICON, model.word_lexicons, found.word_lexicons, strict=True):
        family, column = parameters.families[name], model.table.feature_names.index(name)
        moved = values[name] != family.prior
        assert moved.any()
        np.testing.assert_array_equal(after.probabilities[~moved], before.probabilities[~moved])
        np.testing.assert_allclose(after.probabilities, family.probabilities(values[name]), rtol=1e-6)
        still = model1(found, name) == model1(model, name)
        assert 0 < still.sum() < still.size
        np.testing.assert_array_equal(found.table.scores[still, column], scores[still, column])
        np.testing.assert_allclose(found.table.scores[:, column], model1(found, name) + 3e-4, rtol=1e-5, atol=1e-5)


def model1(model, name):
    return getattr(model1_weights(model.table.pairs, model.word_lexicons), name.removeprefix("lexicon."))


def test_folds_have_not_seen_what_they_translate(sample, tmp_path):
    model, corpus = loaded(sample)
    (tmp_path / "sums").mkdir()
    folds = make_folds(model, corpus, 3, tmp_path, threads=1)
    assert sorted(np.concatenate([fold.lines for fold in folds]).tolist()) == list(range(300))
    for fold in folds:
        other = PhraseModel.load(fold.model)
        assert other.training["sentences"] == 200
        rows = storage.load(fold.rows, "rows.toml")[1]["rows"]
        for row in range(0, len(other.table), 97):
            one, same = other.table[row], model.table[int(rows[row])]
            assert (one.source, one.target) == (same.source, same.target)
            assert one.joint_count <= same.joint_count + 1  # alignments differ a little
        assert np.array_equal(rows, rows_in(model.table, other.table.pairs))
    before = (folds[0].model / "model.toml").stat().st_mtime_ns
    make_folds(model, corpus, 3, tmp_path, threads=1)
    assert (folds[0].model / "model.toml").stat().st_mtime_ns == before
    with pytest.raises(InputError, match="folds"):
        make_folds(model, corpus, 1000, tmp_path)
    assert training_of(model).phrases.max_length == 3
    (sums,) = make_folds(with_word_sums(model), corpus, 2, tmp_path / "sums", threads=1)[:1]
    assert has_word_sums(PhraseModel.load(sums.model))
    with pytest.raises(InputError, match="not known how"):
        training_of(replace(model, training={}))


def test_folds_are_of_the_same_kind(sample, tmp_path):
    """What the model was given, its folds must be given, too."""
    corpus = read_parallel(sample / "train.src", sample / "train.trg")
    config = Training(phrases=PhraseTraining(max_length=2))
    assert "given" not in train(corpus, config, threads=1).training
    text = read_sentences(sample / "tune.trg.0", corpus.target_vocabulary)
    other = train(corpus, config, language_model_text=text, threads=1)
    assert other.training["given"] == "lm"
    for number, models in enumerate((other.language_models, other.language_models * 2)):
        given = train(corpus, config, language_models=models, threads=1)
        (tmp_path / str(number)).mkdir()
        (fold, _) = make_folds(given, corpus, 2, tmp_path / str(number), threads=1)
        found = PhraseModel.load(fold.model).language_models
        assert len(found) == len(models)
        for name, array in models[0].to_arrays().items():
            np.testing.assert_array_equal(found[-1].to_arrays()[name], array)
    alignments = align(corpus, AlignmentTraining(), threads=1).alignments
    aligned = train(corpus, config, alignments=alignments, language_model_text=text, threads=1)
    assert aligned.training["given"] == "alignments+lm"
    for model in (aligned, replace(aligned, training={**aligned.training, "given": ""})):  # as older ones are
        with pytest.raises(InputError, match=r"given word alignments[^·]*`alignments`"):
            make_folds(model, corpus, 2, tmp_path)
    (tmp_path / "aligned").mkdir()
    (fold, _) = make_folds(aligned, corpus, 2, tmp_path / "aligned", alignments=alignments, threads=1)
    assert PhraseModel.load(fold.model).training["given"] == "alignments+lm"


def test_lists_are_those_of_k_best(sample):
    model, _ = loaded(sample)
    segments = read_segments(sample / "tune.src", [sample / "tune.trg.0"])[:5]
    forests = BeamSearch(model, Beam(20)).forests([one.words for one in segments], 1)
    references = [one.references[0] for one in segments]
    rows = np.arange(len(model.table), dtype=np.int32)[::-1].copy()
    lists = phrase_lists(forests, model.weights, references, 7, rows, len(model.table), 1)
    arrays = lists.arrays
    h = 0
    for forest, segment in zip(forests, segments, strict=True):
        for derivation in islice(k_best(forest, forest.scores(model.weights), distinct=True), 7):
            pairs = [rows[step.pair] for step in steps_of(derivation) if step.pair >= 0]
            own = arrays.pairs[arrays.pair_offsets[h] : arrays.pair_offsets[h + 1]]
            assert sorted(own.tolist()) == sorted(pairs)
            np.testing.assert_allclose(arrays.features[h], list(derivation.features.values()), rtol=1e-5)
            expected = BLEU(smooth_method="none").statistics(derivation.words, [segment.references[0]])[:6]
            np.testing.assert_array_equal(arrays.statistics[h], expected)
            h += 1
    assert h == arrays.hypotheses[-1]


LISTS = {"folds": 2, "nbest": 20, "search": "beam:pop_limit=20", "rounds": 1}


def procedure(sample, work):
    model, corpus = loaded(sample)
    return Procedure(
        model=model,
        corpus=corpus,
        tuning=read_segments(sample / "tune.src", [sample / "tune.trg.0"]),
        validation=read_segments(sample / "test.src", [sample / "test.trg.0"]),
        tuner=MIRA(),
        work=work,
        threads=1,
    )


def test_whole_procedure_goes_on_where_it_was(sample, tmp_path, monkeypatch):
    settings = paper("two-stage", 1e-4, sharpness=3.0, iterations=2, **LISTS)
    whole = procedure(sample, tmp_path / "whole").run(settings)
    assert whole.history.rounds[0].objective > whole.history.rounds[0].details["objective_before"]
    # Interrupted while lists are made, and then again while weights are tuned.
    make, calls = training_lists._make, []

    def interrupted(part, threads):
        calls.append(part)
        if len(calls) == 2:
            raise KeyboardInterrupt
        make(part, threads)

    with monkeypatch.context() as patch:
        patch.setattr(training_lists, "_make", interrupted)
        with pytest.raises(KeyboardInterrupt):
            procedure(sample, tmp_path / "parts").run(settings)

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "tune", stop)
        with pytest.raises(KeyboardInterrupt):
            procedure(sample, tmp_path / "parts").run(settings)
    again = procedure(sample, tmp_path / "parts").run(settings)
    np.testing.assert_array_equal(again.model.table.scores, whole.model.table.scores)
    assert dict(again.model.weights) == dict(whole.model.weights)
    with pytest.raises(RunError, match="settings differ: folds was 2, is 3"):
        procedure(sample, tmp_path / "parts").run(replace(settings, folds=3))


def test_what_would_fail_later_is_refused_at_once(sample, tmp_path):
    work, both = tmp_path / "work", RefineSettings("both")
    given = procedure(sample, work)
    model = given.model
    nothing = replace(model.weights, values_by_name={**model.weights, **dict.fromkeys(LEXICON, 0.0)})
    cases = {
        "3000 folds of 300 lines": (given, replace(both, folds=3000)),
        "not known how": (replace(given, model=replace(model, training={})), both),
        "no word lexicons": (replace(given, model=replace(model, word_lexicons=None)), both),
        "given word alignments": (replace(given, model=replace(model, word_lexicons=None)), RefineSettings("phrase")),
        "weights of lexicon.forward, lexicon.backward are 0": (
            replace(given, model=model.with_weights(nothing)),
            RefineSettings("two-stage", keep_weights=True),
        ),
    }
    for message, (one, settings) in cases.items():
        with pytest.raises(InputError, match=message):
            one.run(settings)
    assert not work.exists()


def test_lists_for_other_lexicon_features_are_refused(sample, tmp_path):
    given, kept = procedure(sample, tmp_path), {**LISTS, "keep_weights": True}
    given.baseline(RefineSettings("phrase", **kept))
    with pytest.raises(RunError, match=r"other lexicon features: those of the model; .* sums[^·]*lexical='model1'"):
        given.baseline(RefineSettings("two-stage", **kept))
    other = replace(given, work=tmp_path / "other")
    other.baseline(RefineSettings("lexicon", **kept))
    other.baseline(RefineSettings("both", **kept))
    with pytest.raises(RunError, match="other lexicon features: sums"):
        other.baseline(RefineSettings("phrase", **kept))


def test_processes_and_own_text(sample, tmp_path):
    one, many = procedure(sample, tmp_path / "one"), procedure(sample, tmp_path / "many")
    settings = paper("phrase", 1e-5, **{**LISTS, "nbest": 10, "folds": 1})
    parallel = replace(settings, processes=2)
    module_size = module.SENTENCES_AT_ONCE
    try:
        module.SENTENCES_AT_ONCE = 150
        threads = one.space(one.baseline(settings), settings).parts
        processes = many.space(many.baseline(parallel), parallel).parts
    finally:
        module.SENTENCES_AT_ONCE = module_size
    assert len(threads) == len(processes) == 2
    for left, right in zip(threads, processes, strict=True):
        for a, b in zip(left.arrays, right.arrays, strict=True):
            np.testing.assert_array_equal(a, b)
