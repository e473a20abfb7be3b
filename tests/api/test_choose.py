"""`toledo.choose` and its kin: the stories of the API page, and what they refuse."""

import json
import logging
import math

import numpy as np
import pytest
import sacrebleu

import toledo
from toledo.results import Hypothesis

SAMPLES = ["The cat sat on the mat.", "A cat sat on the mat.", "The cat is sitting on a mat.", "Cats!"]


def test_the_first_story(capsys):
    choice = toledo.choose(SAMPLES)
    assert (
        f"{choice} {choice.index} {choice.score:.2f} {choice.confidence:.2f}" == "The cat sat on the mat. 0 59.81 0.75"
    )
    assert repr(choice) == "Choice('The cat sat on the mat.', index=0, score=59.81, confidence=0.75)"
    found = choice.to_dict()
    assert (found["score"], found["confidence"], found["margin"]) == (59.811044, 0.749287, 4.112468)
    choice.show()
    assert capsys.readouterr().out == (
        "rank  index  count  expected chrF2  p      text\n"
        "   1      0      1           59.81  0.250  The cat sat on the mat.\n"
        "   2      1      1           55.70  0.250  A cat sat on the mat.\n"
        "   3      2      1           43.08  0.250  The cat is sitting on a mat.\n"
        "   4      3      1           30.43  0.250  Cats!\n"
    )
    expected = f"rule:mbr|metric:chrF2|nsamples:4|nrefs:4|weights:uniform|version:{toledo.__version__}"
    assert choice.signature == expected
    assert "<pre>" in choice._repr_html_()


def test_the_score_is_the_mean_of_sacrebleu_s_and_the_confidence_is_the_formula():
    choice = toledo.choose(SAMPLES)
    rows = [[sacrebleu.sentence_chrf(one, [other]).score for other in SAMPLES] for one in SAMPLES[:2]]
    assert choice.score == pytest.approx(np.mean(rows[0]))
    differences = np.subtract(*rows)
    z = differences.mean() / (differences.std(ddof=1) / math.sqrt(4))
    assert choice.confidence == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)))


def test_bleu_leaves_out_long_orders_and_says_so():
    choice = toledo.choose(["Hello there!", "Hello you!", "Hi there!"], metric="bleu")
    expected = np.mean(
        [sacrebleu.sentence_bleu("Hello there!", [one]).score for one in ("Hello there!", "Hello you!", "Hi there!")]
    )
    assert (choice.text, choice.score) == ("Hello there!", pytest.approx(expected))
    assert "metric:BLEU|case:mixed|eff:yes|tok:13a|smooth:exp" in choice.signature


def test_ter_is_an_error_rate():
    choice = toledo.choose(SAMPLES, metric="ter")
    rows = [[min(100, sacrebleu.sentence_ter(one, [other]).score) for other in SAMPLES] for one in SAMPLES]
    expected = np.mean(rows, axis=1)
    assert (choice.text, choice.score) == (SAMPLES[int(np.argmin(expected))], pytest.approx(expected.min()))
    assert choice.margin >= 0
    assert [one.score for one in choice.ranking] == sorted(one.score for one in choice.ranking)


@pytest.mark.parametrize("metric", ["chrf++", "bleu:tokenize=none,lowercase=true", toledo.CHRF(beta=1), "CHRF"])
def test_metrics_by_name_with_settings_and_as_objects(metric):
    assert toledo.choose(SAMPLES, metric=metric).text in SAMPLES


def test_samples_count_as_often_as_they_occur():
    choice = toledo.choose(["a b", "c d", "c d", "a b", "c d"])
    assert (choice.text, choice.index) == ("c d", 1)
    assert [(one.count, one.probability) for one in choice.ranking] == [(3, 0.6), (2, 0.4)]
    weighted = toledo.choose(["a b", "c d"], weights=[3, 1])
    assert (weighted.text, weighted.confidence) == ("a b", None)
    assert weighted.signature.split("|")[4] == "weights:weights"


def test_log_probabilities_count_each_text_once():
    choice = toledo.choose(["a", "b", "b"], logprobs=[math.log(0.6), math.log(0.4), math.log(0.4)])
    assert [round(one.probability, 6) for one in choice.ranking] == [0.6, 0.4]
    by_score = toledo.choose([Hypothesis("a", math.log(0.6)), {"text": "b", "score": math.log(0.4)}])
    assert [round(one.probability, 6) for one in by_score.ranking] == [0.6, 0.4]
    flat = toledo.choose(["a", "b"], logprobs=[0.0, -100.0], scale=1e-9)
    assert flat.ranking[1].probability == pytest.approx(0.5)


def test_features_are_rescored():
    samples = [Hypothesis("a", features={"lm": -1.0}), Hypothesis("b", features={"lm": -2.0})]
    assert toledo.choose(samples, feature_weights={"lm": 1.0}, rule="viterbi").text == "a"
    assert toledo.choose(samples, feature_weights={"lm": -1.0}, rule="viterbi").text == "b"


def test_ties_go_to_the_better_score_then_to_the_first():
    references = ["nothing in common"]
    assert toledo.choose(["xx", "yy"], references).index == 0
    scored = [Hypothesis("xx", -2.0), Hypothesis("yy", -1.0)]
    assert toledo.choose(scored, references).index == 1


def test_the_text_is_exactly_what_was_given():
    odd = "  The  cat\tsat \n"
    assert toledo.choose([odd, "x", odd]).text == odd


def test_references_give_the_oracle():
    choice = toledo.choose(SAMPLES, ["Cats!"])
    assert (choice.text, choice.score, choice.confidence) == ("Cats!", pytest.approx(100), None)


def test_a_matrix_replaces_the_metric():
    matrix = np.array([[1.0, 0.0], [0.9, 0.8]])
    choice = toledo.choose(["a", "b"], matrix=matrix)
    assert (choice.text, choice.score) == ("b", pytest.approx(0.85))
    assert "metric:matrix" in choice.signature


def overlap(hypotheses, references, sources):
    assert sources is None
    return [len(set(one.split()) & set(other.split())) for one, other in zip(hypotheses, references, strict=True)]


def test_a_function_sees_distinct_pairs_in_batches():
    calls = []

    def judge(hypotheses, references, sources):
        calls.append(len(hypotheses))
        return overlap(hypotheses, references, sources)

    lists = [["a b", "a c", "a b"], ["a b", "a c"], ["d", "e"]]
    found = toledo.choose_many(lists, metric=judge, batch_size=5)
    assert calls == [5, 3]  # four distinct pairs of the first two segments together, four of the last
    assert found.texts == ["a b", "a b", "d"]
    assert found[0].metric == "judge"
    lower = toledo.choose(["a b", "a c", "d"], metric=toledo.utility(overlap, name="far", higher_is_better=False))
    assert (lower.text, lower.metric) == ("d", "far")


def test_rules():
    for rule in (
        "mbr",
        "consensus",
        "forest_consensus",
        "lattice-mbr",
        "max-translation",
        "max-derivation",
        "viterbi",
        "map",
    ):
        choice = toledo.choose([SAMPLES[0], SAMPLES[0], *SAMPLES[1:]], rule=rule)
        assert choice.text == SAMPLES[0], rule
        assert (choice.confidence is None) == (rule != "mbr")
    assert toledo.choose(SAMPLES, rule=lambda texts, probabilities: 2).index == 2
    assert toledo.MBR("chrf").choose(SAMPLES).score == pytest.approx(59.811044)
    assert toledo.choose(SAMPLES, rule="mbr:size=1", logprobs=[-3, -1, -2, -4]).index == 1


def test_lattice_mbr_of_texts_is_that_of_forests():
    from toledo.consensus.decide import decide
    from toledo.forest.constructors import ListEntry as Entry
    from toledo.forest.constructors import from_nbest
    from toledo.text.vocabulary import Vocabulary

    texts, scores = ["a b c d", "a b c e", "b c d e f", "a b"], [-1.0, -1.5, -1.2, -3.0]
    forest = from_nbest(
        [Entry(text.split(), {}, score) for text, score in zip(texts, scores, strict=True)], (), Vocabulary()
    )
    for rule in (toledo.LatticeMBR(), toledo.Consensus(), toledo.MBR("bleu")):
        (decision,) = decide(rule, [forest], {})
        choice = rule.choose([Hypothesis(*pair) for pair in zip(texts, scores, strict=True)])
        assert choice.text == " ".join(forest.vocabulary.words(decision.words.tolist()))
        assert choice.score == pytest.approx(decision.value)


def test_many_segments(tmp_path, caplog):
    lists = [SAMPLES, [], ["He has been waiting for the train for an hour.", "He is waiting for the train."]]
    file = tmp_path / "choices.jsonl"
    with caplog.at_level(logging.WARNING):
        choices = toledo.choose_many(lists, output=file)
    assert "segments without samples: 1" in caplog.text
    assert choices.indices == [0, None, 0]
    assert choices.texts[1] == ""
    assert [json.loads(line)["segment"] for line in file.read_text("utf-8").splitlines()] == [0, 1, 2]
    assert str(choices).startswith("3 segments, 6 samples, rule mbr, metric chrF2\nmean expected chrF2 ")
    choices.write(tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text("utf-8").splitlines() == choices.texts
    assert [one.text for one in toledo.iter_choose(lists, threads=1)] == choices.texts
    assert toledo.choose_many([SAMPLES] * 3, threads=1) == toledo.choose_many([SAMPLES] * 3, threads=2)
    assert len(choices.unsure(below=0.8)) == 1


def test_files(tmp_path):
    plain = tmp_path / "samples.txt"
    plain.write_text("\n".join([*SAMPLES, "x"]) + "\n")
    with pytest.raises(toledo.InputError, match="num_samples"):
        toledo.choose_many(plain)
    with pytest.raises(toledo.InputError, match="has 5 lines, which is not a multiple of 2"):
        toledo.choose_many(str(plain), num_samples=2)
    assert toledo.choose_many(plain, num_samples=5)[0].text == SAMPLES[0]
    lines = tmp_path / "samples.jsonl"
    lines.write_text(json.dumps({"hypotheses": SAMPLES}) + "\n")
    assert toledo.choose_many(lines)[0].score == pytest.approx(59.811044)


REFUSED = [
    ({"samples": []}, "samples is empty"),
    ({"samples": [["a"], ["b"]]}, "samples is a list of lists: call choose_many for several segments"),
    ({"samples": "a cat"}, "samples is a str: pass a list of texts"),
    ({"samples": SAMPLES, "logprobs": [1, 2, 3]}, "logprobs has 3 values for 4 samples"),
    ({"samples": SAMPLES, "references": ["a", "b"], "weights": [1]}, "weights has 1 values for 2 references"),
    ({"samples": SAMPLES, "logprobs": [0] * 4, "weights": [1] * 4}, "logprobs and weights exclude each other"),
    ({"samples": SAMPLES, "weights": [1, 1, -1, 1]}, r"weights\[2\] is -1"),
    ({"samples": SAMPLES, "matrix": np.zeros((4, 3))}, r"matrix has shape \(4, 3\), expected \(4, 4\)"),
    ({"samples": SAMPLES, "metric": "blue"}, "no metric 'blue': did you mean 'bleu'"),
    ({"samples": SAMPLES, "rule": "mrb"}, "no rule 'mrb': did you mean 'mbr'"),
    ({"samples": SAMPLES, "rule": "viterbi", "metric": "chrf"}, "rule 'viterbi' has no metric"),
    ({"samples": SAMPLES, "scale": 0.0}, "scale is 0"),
    ({"samples": SAMPLES, "rule": "mbr:size=0"}, "size"),
    ({"samples": [Hypothesis("a", 1.0), "b"]}, r"samples\[1\] has no score, but others have"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refusals(arguments, message):
    with pytest.raises(toledo.InputError, match=message):
        toledo.choose(**arguments)


def test_refusals_of_no_text_and_of_bad_metrics():
    with pytest.raises(TypeError, match=r"samples\[1\] is None, expected str"):
        toledo.choose(["a", None])
    with pytest.raises(TypeError, match=r"lists\[1\]\[0\] is 3, expected str"):
        toledo.choose_many([["a"], [3]])
    with pytest.raises(toledo.InputError, match="metric 'judge' returned nan for sample 2 of segment 1"):
        toledo.choose_many([["a"], ["b", "c", "d"]], metric=toledo.utility(_nan, name="judge"))
    with pytest.raises(toledo.InputError, match="metric 'needy' needs sources"):
        toledo.choose(["a", "b"], metric=toledo.utility(overlap, name="needy", needs=("references", "sources")))
    with pytest.raises(toledo.InputError, match="segment 1: logprobs has 1 values for 2 samples"):
        toledo.choose_many([["a"], ["b", "c"]], logprobs=[[0], [0]])
    with pytest.raises(toledo.InputError, match="ends at segment 1"):
        toledo.choose_many([["a"], ["b", "c"]], logprobs=[[0]])


def _nan(hypotheses, references, sources):
    return [float("nan") if one == "d" else 1.0 for one in hypotheses]


def test_tune_rule_with_its_settings():
    lists = [["a b", "a b", "a b c d"]]  # by default the shorter text is worth more
    how = {"rules": ["lattice-mbr"], "scales": [1.0], "metric": "chrf"}
    plain = toledo.tune_rule(lists, ["a b c d"], **how)
    tuned = toledo.tune_rule(lists, ["a b c d"], settings=True, **how)
    assert tuned.rows[0] == plain.best == plain.rows[0]
    assert tuned.best.score == 100.0 > plain.best.score
    assert tuned.best.rule == "lattice-mbr:ratio=0.5"
    assert toledo.choose_many(lists, rule=tuned.best.rule).texts == ["a b c d"]


def test_tune_rule():
    lists = [[Hypothesis("a b c d", -1.0), Hypothesis("a b c e", -1.2), Hypothesis("a b c e f", -1.4)]] * 3
    found = toledo.tune_rule(lists, ["a b c e"] * 3, rules=["mbr", "viterbi"], scales=[0.5, 20.0])
    assert [(row.rule, row.scale) for row in found.rows] == [("mbr", 0.5), ("mbr", 20.0), ("viterbi", 1.0)]
    assert found.best.scale == 0.5
    assert str(found).splitlines()[0].split() == ["rule", "scale", "BLEU"]
    assert len(toledo.tune_rule(lists, ["a b c e"] * 3).rows) == 12


def test_rules_decide_on_forests() -> None:
    """A list as a forest gives the choice of the list; draws depend on the seed alone."""
    samples = [{"text": "the cat sat", "score": 1.0}, {"text": "a cat sat", "score": 0.5}, {"text": "cats", "score": 0}]
    forests = [toledo.Forest.from_list(samples), toledo.Forest.from_list(samples[1:])]
    chosen = toledo.choose_many(forests, rule="max-translation")
    assert chosen.texts == ["the cat sat", "a cat sat"]
    assert [one.segment for one in chosen] == [0, 1]
    assert str(chosen) == "2 segments, rule max-translation"
    whole = toledo.choose_many(forests, rule="mbr", metric="bleu:tokenize=none,effective_order=true", scale=0.5)
    listed = toledo.choose_many([samples, samples[1:]], metric="bleu:tokenize=none,effective_order=true", scale=0.5)
    assert whole.texts == listed.texts
    assert whole.scores == pytest.approx(listed.scores)
    drawn = [toledo.choose_many(forests, rule="mbr:num_samples=3", seed=seed).scores for seed in range(5)]
    assert drawn == [toledo.choose_many(forests, rule="mbr:num_samples=3", seed=seed).scores for seed in range(5)]
    assert len({tuple(one) for one in drawn}) > 1
    with pytest.raises(toledo.InputError, match="logprobs has no effect"):
        toledo.choose_many(forests, logprobs=[[0.0]])
    lattice = toledo.Forest.from_lattice([(0, 1, "a", {"f": 1.0}), (0, 1, "b", {"f": 2.0})])
    assert toledo.choose_many([lattice], rule="viterbi", feature_weights={"f": 1.0}).texts == ["b"]
    with pytest.raises(toledo.InputError, match="scored by features"):
        toledo.choose_many([lattice], rule="viterbi")
