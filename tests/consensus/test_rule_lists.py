"""Reranking by features and metrics without references, and rules that narrow step by step."""

import threading

import numpy as np
import pytest

import toledo
from toledo.consensus.mbr import MBR
from toledo.consensus.rerank import Rerank
from toledo.results import Hypothesis

TEXTS = ["the cat sat", "a cat sat", "the cat sits", "dogs bark", "the cat sat down", "a dog barks"]
JUDGED = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7]
SAMPLES = [Hypothesis(text, features={"judge": value}) for text, value in zip(TEXTS, JUDGED, strict=True)]


def test_rerank_by_a_feature() -> None:
    choice = toledo.choose(SAMPLES, rule="rerank:feature=judge")
    assert (choice.text, choice.index, choice.score, choice.num_calls) == ("a cat sat", 1, 0.9, 0)
    assert [one.index for one in choice.ranking] == [1, 3, 5, 4, 2, 0]
    assert "rule:rerank|" in choice.signature
    kept = toledo.choose(SAMPLES, rule=Rerank(feature="judge", keep=2))
    assert [one.index for one in kept.ranking] == [1, 3]


def test_rerank_by_a_metric_without_references() -> None:
    def shortest(hypotheses: list[str], references: list[str], sources: list[str]) -> list[int]:
        return [abs(len(one) - len(source)) for one, source in zip(hypotheses, sources, strict=True)]

    metric = toledo.utility(shortest, higher_is_better=False, needs=["sources"])
    choice = toledo.choose(TEXTS, rule=Rerank(metric=metric), source="x" * 16)
    assert (choice.text, choice.score) == ("the cat sat down", 0)
    with pytest.raises(toledo.InputError, match="needs sources"):
        toledo.choose(TEXTS, rule=Rerank(metric=metric))
    with pytest.raises(toledo.InputError, match="needs references"):
        Rerank(metric="bleu")


def test_a_list_of_rules_is_the_last_rule_on_what_the_others_keep() -> None:
    narrowed = toledo.choose(SAMPLES, rule=["rerank:feature=judge,keep=4", "mbr:metric=bleu+1"])
    kept = [one for one in SAMPLES if one.features["judge"] >= 0.3]
    alone = toledo.choose(kept, rule="mbr:metric=bleu+1")
    assert (narrowed.text, narrowed.score) == (alone.text, alone.score)
    assert narrowed.index == TEXTS.index(alone.text)
    assert (narrowed.num_calls, narrowed.rule) == (16, "rerank,mbr")
    assert [one.text for one in narrowed.ranking] == [one.text for one in alone.ranking]
    assert "rule:rerank,mbr|metric:BLEU" in narrowed.signature


def test_three_steps_with_a_dear_metric_last() -> None:
    asked: list[tuple[str, str]] = []

    def dear(hypotheses: list[str], references: list[str], sources: object) -> list[float]:
        asked.extend(zip(hypotheses, references, strict=True))
        return [float(len(set(one) & set(other))) for one, other in zip(hypotheses, references, strict=True)]

    rules = ["rerank:feature=judge,keep=5", "mbr:metric=chrf,keep=3", MBR(dear)]
    choices = toledo.choose_many([SAMPLES, SAMPLES[::-1]], rule=rules)
    first = [one for one in SAMPLES if one.features["judge"] >= 0.2]
    second = [SAMPLES[TEXTS.index(one.text)] for one in toledo.choose(first).ranking[:3]]
    expected = toledo.choose(second, metric=dear)
    assert [one.text for one in choices] == [expected.text] * 2
    assert {text for pair in asked for text in pair} == {one.text for one in second}
    assert choices[0].num_calls == 25 + 9


def test_given_references_and_matrices_stay() -> None:
    references = ["the cat sat", "the cats sat"]
    choice = toledo.choose(SAMPLES, references, rule=["rerank:feature=judge,keep=2", "mbr"])
    assert (choice.text, choice.num_calls) == ("a cat sat", 4)
    matrix = np.arange(36.0).reshape(6, 6)
    by_matrix = toledo.choose(SAMPLES, matrix=matrix, rule=["rerank:feature=judge,keep=2", "mbr"])
    assert (by_matrix.index, by_matrix.score) == (3, pytest.approx(np.mean(matrix[3, [1, 3]])))


def test_kept_texts_without_probability() -> None:
    """Then the next rule takes all of them for equally likely."""
    weights = [1, 0, 1, 0, 1, 1]  # those that the judge prefers have none
    choice = toledo.choose(SAMPLES, weights=weights, rule=["rerank:feature=judge,keep=2", "mbr"])
    alone = toledo.choose([TEXTS[1], TEXTS[3]])
    assert (choice.text, choice.score) == (alone.text, pytest.approx(alone.score))


def test_the_metric_is_that_of_the_last_rule() -> None:
    choice = toledo.choose(SAMPLES, metric="bleu", rule=["mbr:metric=chrf,keep=3", "mbr"])
    assert choice.metric == "BLEU"
    systems = {name: [text] for name, text in zip("abcdef", TEXTS, strict=True)}
    assert toledo.choose_many(systems, rule=["mbr:metric=chrf,keep=3", "mbr"])[0].metric == "mean(BLEU,chrF2)"


def test_refusals() -> None:
    with pytest.raises(toledo.InputError, match="empty list"):
        toledo.choose(SAMPLES, rule=[])
    with pytest.raises(toledo.InputError, match="needs a feature or a metric"):
        toledo.choose(SAMPLES, rule="rerank")
    with pytest.raises(toledo.InputError, match="sample 0 of segment 0 has no feature 'jugde'") as error:
        toledo.choose(SAMPLES, rule="rerank:feature=jugde")
    assert "judge" in str(error.value.remedy)
    with pytest.raises(toledo.InputError, match="has no metric"):
        toledo.choose(SAMPLES, metric="bleu", rule=["mbr:keep=2", "viterbi"])
    for rule in (["rerank:feature=judge", "mbr"], "rerank:feature=judge"):
        with pytest.raises(toledo.InputError, match="not in forests"):
            toledo.choose_many([toledo.Forest.from_list(["a", "b"])], rule=rule)


def test_a_function_is_asked_for_the_texts_of_many_segments_in_the_calling_thread() -> None:
    calls = []

    def length(hypotheses: list[str], references: list[str], sources: list[str] | None) -> list[float]:
        calls.append((threading.current_thread(), len(hypotheses), sources))
        return [float(len(one)) for one in hypotheses]

    lists = [["a", "b c"], ["x y z", "x"], []]
    rule = toledo.Rerank(metric=toledo.utility(length, needs=("sources",)))
    chosen = toledo.choose_many(lists, sources=["s", "t", "u"], rule=rule, threads=2)
    assert chosen.texts == ["b c", "x y z", ""]
    assert calls == [(threading.main_thread(), 4, ["s", "s", "t", "t"])]
    assert toledo.choose_many([[], []], sources=["s", "t"], rule=rule).texts == ["", ""]
