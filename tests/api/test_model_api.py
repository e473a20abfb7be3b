"""Models as users have them: text in, text out."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

import toledo
from toledo.errors import InputError, ModelError, UnknownNameError
from toledo.search.beam.search import BeamSearch
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import Beam, Gibbs

SOURCES = ["das haus ist klein", "", "<s> neu das haus"]
TRANSLATIONS = ["the house is small", "", "<s> neu the house"]


@pytest.fixture
def model(caplog: pytest.LogCaptureFixture) -> toledo.Model:
    caplog.set_level(logging.WARNING, "toledo")
    return toledo.Model(small_model(), "small")


def test_one_text_gives_one_and_many_give_a_list(model: toledo.Model, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("\n".join(SOURCES) + "\n")
    assert model.translate("das haus") == "the house"
    assert model.translate(SOURCES) == TRANSLATIONS
    assert model.translate(iter(SOURCES)) == TRANSLATIONS
    assert model.translate(tmp_path / "in") == TRANSLATIONS
    assert list(model.iter_translate(tmp_path / "in")) == TRANSLATIONS
    assert model.translate([]) == []
    endless = model.iter_translate(chain(SOURCES, repeat("das")))
    assert [next(endless) for _ in SOURCES] == TRANSLATIONS


def test_decode_gives_the_same_with_everything_that_was_decided(model: toledo.Model) -> None:
    first, empty, copied = model.decode(SOURCES)
    (best,) = BeamSearch(small_model()).translate([SOURCES[0].split()])
    assert [str(one) for one in (first, empty, copied)] == TRANSLATIONS
    assert first.score == pytest.approx(best.score)
    assert first.segmentation == tuple((step.begin, step.end, " ".join(step.words)) for step in best.steps)
    assert first.alignment[-1] == (3, 3)
    assert first.hypothesis.alignment == first.alignment
    product = sum(model.weights[name] * value for name, value in first.hypothesis.features.items())
    assert product == pytest.approx(first.score, abs=1e-4)
    assert first.choice is None
    assert copied.unknown_words == ("neu",)
    assert copied.segment == 2
    assert first.signature.startswith("rule:viterbi|pairs:6|")
    assert first.to_dict()["segmentation"][0] == list(first.segmentation[0])


def test_a_rule_decides(model: toledo.Model) -> None:
    found = model.decode(SOURCES, rule="mbr:size=20", metric="chrf", scale=2.0)
    assert [one.text for one in found] == TRANSLATIONS
    choice = found[0].choice
    assert (choice.rule, choice.scale, found[0].score, found[0].alignment) == ("mbr", 2.0, None, None)
    assert 0 < choice.score <= 100
    assert model.translate(SOURCES, rule=toledo.Consensus(order=2)) == TRANSLATIONS

    def second(texts: list[str], probabilities: list[float]) -> int:
        assert sum(probabilities) == pytest.approx(1.0)
        return min(1, len(texts) - 1)

    assert model.translate("das haus", rule=second) == model.nbest("das haus", 2, distinct=True)[1].text


@pytest.mark.parametrize("search", ["beam", "itg:beam=20", Gibbs(iterations=200), Beam(50)])
def test_searches(model: toledo.Model, search: object) -> None:
    assert model.translate(SOURCES, search=search) == TRANSLATIONS  # type: ignore[call-overload]
    (first, *_), _, _ = model.nbest(SOURCES, 3, search=search)  # type: ignore[call-overload]
    assert first.text == TRANSLATIONS[0]
    assert len(model.forest(SOURCES, search=search)) == 3  # type: ignore[call-overload]


def test_lists_and_forests(model: toledo.Model) -> None:
    many = model.nbest("das haus", 10)
    assert [one.score for one in many] == sorted((one.score for one in many), reverse=True)
    assert len({one.text for one in many}) < len(many)
    texts = [one.text for one in model.nbest("das haus", 10, distinct=True)]
    assert len({*texts}) == len(texts)
    assert model.nbest(["<s>"], 1)[0][0].text == "<s>"
    assert model.forest("das haus", density=1).edges < model.forest("das haus").edges


def test_samples(model: toledo.Model) -> None:
    samples = model.sample("das haus <s>", 400, chains=4, burn_in=10, seed=3)
    kind = Gibbs(4, 100, 10)
    (expected,) = GibbsSearch(small_model(), kind, 3).samples([["das", "haus", "<s>"]])
    assert sum(one.count for one in samples) == 400
    assert [one.score for one in samples] == expected.scores.tolist()
    assert samples[0].text == "the house <s>"
    product = sum(model.weights[name] * value for name, value in samples[0].features.items())
    assert product == pytest.approx(samples[0].score, abs=1e-3)
    assert samples.diagnostics.samples == 400
    ngrams = samples.expected_ngrams(2)
    assert 0 < ngrams["the house"] <= 1.001
    assert samples.to_dict()["diagnostics"]["chains"] == 4
    assert len(model.sample(["das", "haus"], 20)) == 2


def test_given_translations_are_scored_and_explained(model: toledo.Model) -> None:
    best, none = model.score(["das haus", "das"], ["the house", "house"])
    assert best.text == "the house"
    assert best.score == pytest.approx(model.decode("das haus").score, abs=1e-5)
    assert none is None
    assert model.score("das haus", "that house").score < best.score
    with pytest.raises(InputError, match="sources has 1 segments, targets 2"):
        model.score(["das"], ["the", "that"])
    assert "no translation: no phrase gives 'house'" in str(model.explain("das", "house"))
    rows = model.explain("das haus", "that house").rows_as_dicts()
    assert [row["target"] for row in rows] == ["that", "house", "</s>"]
    assert "das haus" in str(model.explain("das haus"))


def test_weights(model: toledo.Model, tmp_path: Path) -> None:
    reluctant = {**model.weights, "word.penalty": 3.0, "lm": 0.0}
    other = model.with_weights(reluctant)
    other.weights.save(tmp_path / "w.toml")
    assert other.weights.frozen == model.weights.frozen
    score = model.decode("das haus", weights=reluctant).score
    assert score == other.decode("das haus").score == model.decode("das haus", weights=tmp_path / "w.toml").score
    assert score != model.decode("das haus").score
    with pytest.raises(InputError, match="the model has no feature 'lmm'"):
        model.with_weights({**model.weights, "lmm": 1.0})
    with pytest.raises(InputError, match="no weight for"):
        model.with_weights({"lm": 1.0})


def test_a_model_keeps_its_rule(model: toledo.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "plain")
    small_model().save(tmp_path / "same")
    assert (tmp_path / "plain/model.toml").read_bytes() == (tmp_path / "same/model.toml").read_bytes()
    ruled = model.with_rule(toledo.MBR("chrf", size=20), 2.0)
    ruled.save(tmp_path / "ruled")
    again = toledo.load(tmp_path / "ruled")
    assert (again.rule, again.scale) == ("mbr:metric=chrf,size=20", 2.0)
    assert again.decode("das haus").choice.score == ruled.decode("das haus").choice.score
    assert again.translate("das haus", rule="viterbi") == "the house"
    assert again.with_weights(model.weights).rule == again.rule
    with pytest.raises(InputError, match="a function as a rule cannot be saved"):
        model.with_rule(lambda texts, probabilities: 0).save(tmp_path / "function")
    with pytest.raises(UnknownNameError):
        model.with_rule("mbrr")


def test_load_and_exchange(model: toledo.Model, tmp_path: Path) -> None:
    model.export(tmp_path / "moses", filter=["das haus"])
    read = toledo.load(tmp_path / "moses" / "moses.ini")
    assert len(read.phrase_model.table) == 4
    assert read.translate("das haus") == "the house"
    model.save(tmp_path / "model")
    assert repr(toledo.load(tmp_path / "model")) == "Model('model', 6 phrase pairs)"
    for wrong in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ModelError, match="is not a model"):
            toledo.load(wrong)
    (tmp_path / "text").write_text("text")
    with pytest.raises(ModelError, match="not a model"):
        toledo.load(tmp_path / "text")
    next((tmp_path / "model").glob("lm0.*.npy")).write_bytes(b"broken")
    with pytest.raises(ModelError, match="lm0"):
        toledo.load(tmp_path / "model")


def test_a_model_prints_a_summary(model: toledo.Model) -> None:
    assert str(model).startswith("model small: 6 phrase pairs of up to 2 source words\nlanguage models: 3-grams;")
    assert "rule: mbr at scale 2" in str(model.with_rule("mbr", 2.0))
    assert model.features == small_model().feature_names
    with pytest.raises(AttributeError, match="did you mean translate"):
        model.predict("das haus")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": 2.0}, "rule 'viterbi' has no scale"),
        ({"metric": "chrf"}, "rule 'viterbi' has no metric"),
        ({"rule": "mbr", "scale": 0.0}, "scale is 0"),
        ({"search": "beem"}, "did you mean 'beam'"),
    ],
)
def test_refusals(model: toledo.Model, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.translate("das haus", **arguments)  # type: ignore[call-overload]


def test_wrong_texts(model: toledo.Model) -> None:
    with pytest.raises(TypeError, match=r"sources\[1\] is None, expected str"):
        model.translate(["das", None])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"sources\[0\] contains a line end"):
        model.translate("das\nhaus")
    with pytest.raises(InputError, match="size is 0"):
        model.nbest("das", 0)


def bleu(lines: Sequence[str], references: Sequence[str]) -> float:
    return toledo.evaluate(lines, references, metrics="bleu", tokenize="none", interval=None).bleu.score


@pytest.mark.parametrize("search", ["beam", Gibbs(iterations=5, burn_in=5)])
@pytest.mark.parametrize("rule", ["max-translation", "mbr", "consensus", "lattice-mbr"])
def test_scores_of_a_tuned_rule_are_those_of_what_it_translates(model: toledo.Model, search: object, rule: str) -> None:
    """Samples drawn at one scale and weighed anew would look too good at a flat one."""
    sources, references = ["das haus ist klein", "klein ist das haus"], ["the house is small", "small is the house"]
    tuning = toledo.tune_rule(
        model,
        references,
        sources=sources,
        rules=[rule],
        scales=[0.01, 4.0],
        search=search,
        seed=3,  # type: ignore[arg-type]
    )
    assert [row.scale for row in tuning.rows] == [0.01, 4.0]
    for row in tuning.rows:
        lines = model.translate(sources, rule=rule, scale=row.scale, search=search, seed=3)  # type: ignore[call-overload]
        assert bleu(lines, references) == pytest.approx(row.score)
    assert tuning.model.rule == rule
    assert tuning.model.scale == tuning.best.scale


def test_settings_of_a_rule_are_tuned_one_after_the_other(model: toledo.Model) -> None:
    sources, references = ["das haus ist klein", "klein ist das haus"], ["small the house", "house small is the"]
    how = {"sources": sources, "metric": "chrf", "scales": [0.3, 3.0]}
    plain = toledo.tune_rule(model, references, rules=["lattice-mbr"], **how)
    tuning = toledo.tune_rule(model, references, rules=["lattice-mbr"], settings=True, **how)
    assert tuning.rows[:2] == plain.rows
    assert tuning.best.score == max(row.score for row in tuning.rows) >= plain.best.score
    assert len({(row.rule, row.scale) for row in tuning.rows}) == len(tuning.rows)  # none is tried twice
    tried = {name for row in tuning.rows for name in toledo.LatticeMBR.worth_trying if f"{name}=" in row.rule}
    assert tried == set(toledo.LatticeMBR.worth_trying)
    lines = tuning.model.translate(sources)
    assert [toledo.evaluate(lines, references, metrics=["chrf"])["chrf"].score] == [pytest.approx(tuning.best.score)]
    mbr = toledo.tune_rule(model, references, rules=["mbr"], settings=True, **how)
    assert len(mbr.rows) == 2  # nothing else to try


def test_tuning_a_rule_by_the_norm_of_the_weights(model: toledo.Model) -> None:
    references = ["the house is small"]
    sources = ["das haus ist klein"]
    rules = ["viterbi", toledo.MBR(size=50)]
    tuning = toledo.tune_rule(model, references, sources=sources, rules=rules, metric="chrf")
    assert [row.rule for row in tuning.rows] == ["viterbi", *["mbr:size=50"] * 12]
    twice = model.with_weights({name: 2 * value for name, value in model.weights.items()})
    other = toledo.tune_rule(twice, references, sources=sources, rules=rules, metric="chrf")
    scales = np.array([row.scale for row in tuning.rows[1:]])
    np.testing.assert_allclose([2 * row.scale for row in other.rows[1:]], scales, rtol=0.01)
    with pytest.raises(InputError, match="a model needs `sources`"):
        toledo.tune_rule(model, references)
    with pytest.raises(InputError, match="`num_samples` is for lists"):
        toledo.tune_rule(model, references, sources=sources, num_samples=2)


def test_raw_text_beside_tokenized_text_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    raw, tokenized = ["The cat sat."] * 3, ["The cat sat ."] * 3
    for texts, references, message in (
        (tokenized, raw, "the hypotheses look tokenized, the references do not"),
        (raw, tokenized, "the references look tokenized, the hypotheses do not"),
        (tokenized, tokenized, "`tokenize=none` counts their tokens as they are"),
    ):
        caplog.clear()
        toledo.evaluate(texts, references, interval=None)
        assert message in caplog.text
    caplog.clear()
    toledo.evaluate(raw, raw, interval=None)
    toledo.evaluate(tokenized, tokenized, tokenize="none", interval=None)
    toledo.choose_many([raw, raw])
    assert not caplog.text
    toledo.choose_many([raw, raw], metric="bleu:tokenize=none")
    assert "the texts look raw, with words such as 'sat.'" in caplog.text


def test_a_model_with_sparse_features_is_the_same(model: toledo.Model) -> None:
    from toledo.phrases.sparse import pair_identity, sparse_features

    plain = model.phrase_model
    sparse = toledo.Model(replace(plain, sparse=sparse_features(plain.table, [pair_identity])))
    assert sparse.translate(SOURCES) == TRANSLATIONS
    assert sparse.with_weights({**plain.weights, "pair:das~haus→the~house": 2.5}).decode("das haus").score > (
        model.decode("das haus").score
    )
