"""Why a text was chosen, against all texts of the lattice and against the definitions."""

import json
from itertools import islice

import numpy as np
import pytest

import toledo
from toledo.combination.explanation import RIVALS, VotedWord, compared_paths, differing, parts_of_votes, system_parts
from toledo.combination.network import NULL
from toledo.forest.kbest import k_best
from toledo.view.network import ShownArc, short_column, voters

REFERENCES = ["The cat sat on the mat.", "Peter's house is very small.", "We saw the old man in Paris."]
SYSTEMS = {
    "one": ["The cat sat on mat.", "Peter's house is small.", "We saw the old man in Paris."],
    "two": ["The cat sits on the mat.", "Peter's house is very small.", "We saw an old man."],
    "three": ["A cat sat on the mat.", "The house is very small.", "We saw the old man in Paris."],
}


@pytest.fixture(scope="module")
def combination() -> toledo.Combination:
    return toledo.Combination.tune(SYSTEMS, REFERENCES, entropy=[1.0], threads=1)


def test_parts_add_up_and_the_runner_up_is_the_best_other_text(combination: toledo.Combination) -> None:
    lines = list(combination._lines(SYSTEMS, threads=1))
    assert len(lines) == 3
    for line in lines:
        forest = line.combined.forest
        result, rivals = compared_paths(combination.combiner, line.combined)
        assert result is not None
        assert result.text == line.combined.words
        best = {}
        for one in islice(k_best(forest, forest.scores(combination.weights)), 5000):
            best.setdefault(one.words, one.score)
        others = sorted((score for words, score in best.items() if words != result.text), reverse=True)
        assert [rival.score for rival in rivals] == pytest.approx(others[:RIVALS])
        for path in (result, *rivals):
            assert sum(path.parts.values()) == pytest.approx(path.score, abs=1e-4)
            assert path.score == pytest.approx(best[path.text])


def test_words_have_the_votes_of_the_systems_that_say_them(combination: toledo.Combination) -> None:
    shares = list(combination.shares.values())
    outputs = [[text.lower() for text in own] for own in SYSTEMS.values()]
    explained = combination.explain(SYSTEMS, [0, 2], threads=1)
    assert [one.number for one in explained.segments] == [0, 2]
    for segment in explained.segments:
        assert segment.result is not None
        for word in segment.result.words:
            assert word.votes == pytest.approx(sum(shares[system] for system in word.systems), rel=1e-5)
            for system in word.systems:
                assert word.word in outputs[system][segment.number]
        margin = segment.result.score - segment.rivals[0].score
        assert margin >= 0.0
        assert sum(segment.reasons.values()) == pytest.approx(margin, abs=1e-4)
        assert segment.choices
        for ours, theirs in segment.choices:
            assert [one.word for one in ours] != [one.word for one in theirs]


def test_parts_in_the_results_are_those_of_votes(combination: toledo.Combination) -> None:
    combiner = combination.combiner
    sigma, sums, words = combiner.second.weights.sigma, np.zeros(3), 0
    rows = []
    for line in combination._lines(SYSTEMS, threads=1):
        path = combiner.path(line.combined)
        assert path is not None
        for arc in path.arcs:
            arcs = path.network.arcs()
            if arcs.words[arc] != NULL:
                own = arcs.systems[arcs.vote_offsets[arc] : arcs.vote_offsets[arc + 1]]
                sums[own] += sigma[own] / sigma[own].sum()
                words += 1
        rows.append(parts_of_votes(path, sigma))
    found = combination.explain(SYSTEMS, threads=1).systems
    assert [one.part for one in found] == pytest.approx(sums / words)
    assert sum(one.part or 0.0 for one in found) == pytest.approx(1.0)
    assert [one.share for one in found] == [*combination.shares.values()]
    assert all(one.low <= one.part <= one.high for one in found if one.low is not None)  # type: ignore[operator]
    assert [(one.low, one.high) for one in system_parts(combiner, rows)] == [(one.low, one.high) for one in found]
    assert [one.part for one in system_parts(combiner, [])] == [None] * 3
    equal = system_parts(combiner, [rows[0]] * 50)
    assert all(one.high == pytest.approx(one.low) for one in equal)  # equal segments: nothing depends on the draw


def test_intervals_cover_the_mean_of_all_segments_as_often_as_they_say(combination: toledo.Combination) -> None:
    random = np.random.default_rng(5)
    truth = np.array([0.5, 0.3, 0.2])
    covered = 0
    for _ in range(100):
        rows = [random.dirichlet(8 * truth) for _ in range(60)]
        part = system_parts(combination.combiner, rows)[0]
        covered += part.low <= truth[0] <= part.high  # type: ignore[operator]
    assert 86 <= covered <= 100


def test_text_json_and_page(combination: toledo.Combination) -> None:
    explained = combination.explain(SYSTEMS, [1], references=REFERENCES, sources=["a", "b", "c"], threads=1)
    text = str(explained)
    for part in (
        "Segment 1: Peter's house",
        "source: b",
        "runner-up:",
        "the difference is +",
        "95% interval",
        "Weights:",
    ):
        assert part in text
    found = json.loads(json.dumps(explained.to_dict()))
    (segment,) = found["segments"]
    assert segment["result"]["words"][0]["systems"]
    assert {one["name"] for one in found["systems"]} == set(SYSTEMS)
    assert sum(segment["reasons"].values()) == pytest.approx(
        segment["result"]["score"] - segment["rivals"][0]["score"], abs=1e-4
    )
    assert found["num_segments"] == 3
    html = explained.page.html
    for part in ("Why not the runner-up", "Where they differ", "part in the results"):
        assert part in html
    assert "srcdoc" in explained._repr_html_()
    alone = combination.explain(SYSTEMS, [1], sample=0, threads=1)
    assert alone.num_segments == 0
    assert "interval" not in str(alone)
    assert "Shares of systems" in alone.page.html
    for wrong in ([7], [-1], []):
        with pytest.raises(toledo.InputError, match=r"no segment 7|no such segment"):
            combination.explain(SYSTEMS, wrong)


def test_a_rule_may_choose_another_text_than_the_best(combination: toledo.Combination) -> None:
    explained = combination.explain(SYSTEMS, [0, 1, 2], rule="consensus", threads=1)
    texts = combination.run(SYSTEMS, rule="consensus", threads=1)
    assert [one.text for one in explained.segments] == texts


def test_nothing_to_say() -> None:
    silent = {"one": ["", "a b"], "two": ["", "a c"]}
    combination = toledo.Combination.tune(silent, ["x", "a b"], entropy=[1.0], threads=1)
    explained = combination.explain(silent, [0], threads=1)
    assert "Segment 0:" in str(explained)
    assert explained.page.headings == ["Segment 0", "Systems"]


def test_differing_words() -> None:
    def words(text: str) -> list[VotedWord]:
        return [VotedWord(word, 1.0, ()) for word in text.split()]

    found = differing(words("a b c d"), words("a x c y z"))
    assert [([one.word for one in left], [one.word for one in right]) for left, right in found] == [
        (["b"], ["x"]), (["d"], ["y", "z"]),
    ]  # fmt: skip
    assert differing(words("a"), words("a")) == []


def test_many_systems_are_named_in_few_words() -> None:
    assert voters((0, 1, 2), 3) == "ABC"
    assert voters(range(40), 40) == "all"
    assert voters([one for one in range(40) if one not in (2, 30)], 40) == "all but Ce"
    assert voters((0, 39), 40) == "An"
    assert voters(range(20), 40) == "20 of 40"
    assert voters((1, 60), 70) == "B 61"
    column = [ShownArc(f"w{place}", 0.1, (place,), place == 8) for place in range(9)]
    short = short_column(column)
    assert [one.word for one in short] == ["w0", "w1", "w2", "w3", "w4", "w8", "+3"]
    assert sum(one.votes for one in short) == pytest.approx(0.9)
    assert short[-1].others == ("w5", "w6", "w7")
