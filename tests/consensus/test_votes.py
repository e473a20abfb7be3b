"""Votes of systems: copies share one, references sharpen them."""

import math
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, succeed
from hypothesis import given
from hypothesis import strategies as st

import toledo
from toledo.consensus.votes import COPY, TEMPERATURE, learn_votes, mean_similarity, share_votes, shared_votes
from toledo.metrics.chrf import CHRF
from toledo.sample.corpus import example_data

GARBAGE = "word salad again"


@pytest.fixture(scope="module")
def systems() -> dict[str, list[str]]:
    """Systems that spoil more and more words of the same texts."""
    data = example_data(train=10, tune=10, test=60)
    random, texts = np.random.default_rng(3), list(data.test.references[0])
    words = sorted({word for text in texts for word in text.split()})

    def spoiled(share: float) -> list[str]:
        def change(word: str) -> str:
            return str(random.choice(words)) if random.random() < share else word

        return [" ".join(change(word) for word in text.split()) for text in texts]

    return {"A": spoiled(0.15), "B": spoiled(0.2), "C": spoiled(0.25), "D": spoiled(0.4)}


def by_hand(similarity: np.ndarray) -> list[float]:
    """The formula of the module, with loops."""
    n = len(similarity)
    once = [1.0 / sum(similarity[i][j] >= COPY for j in range(n)) for i in range(n)]
    pairs = sorted((similarity[i][j], once[i] * once[j]) for i in range(n) for j in range(n) if similarity[i][j] < COPY)
    half, below, base = sum(weight for _, weight in pairs) / 2.0, 0.0, 0.0
    for value, weight in pairs:
        below += weight
        if below >= half * (1.0 - 1e-12):
            base = value
            break

    def similar(i: int, j: int) -> float:
        value = similarity[i][j]
        return 1.0 if value >= COPY else max(0.0, (value - base) / (100.0 - base))

    return [once[i] / sum(once[j] * similar(i, j) ** 2 for j in range(n)) for i in range(n)]


@given(st.integers(1, 7), st.integers(0, 10_000))
def test_votes_are_those_of_the_formula(number: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    half = random.uniform(20.0, 104.0, (number, number)).clip(max=100.0)
    similarity = (half + half.T) / 2.0
    np.fill_diagonal(similarity, 100.0)
    votes, _ = shared_votes(similarity)
    assert votes == pytest.approx(by_hand(similarity))


def test_similarity_is_the_mean_of_chrf_both_ways(systems: dict[str, list[str]]) -> None:
    some = [texts[:5] for texts in systems.values()]
    found = mean_similarity(some, threads=2)
    metric = CHRF()
    for i, one in enumerate(some):
        for j, other in enumerate(some):
            both = [
                (metric.sentence_score(a, [b]).score + metric.sentence_score(b, [a]).score) / 2.0
                for a, b in zip(one, other, strict=True)
            ]
            assert found[i, j] == pytest.approx(sum(both) / 5)


@pytest.mark.parametrize("copied", ["A", "B", "C", "D"])
def test_copies_change_no_choice(systems: dict[str, list[str]], copied: str) -> None:
    alone = toledo.choose_many(systems)
    bought = toledo.choose_many({**systems, **{f"copy {n}": systems[copied] for n in range(3)}})
    assert bought.texts == alone.texts
    shares = {one.system: one.share for one in bought.votes.votes}
    own = {one.system: one.share for one in alone.votes.votes}
    assert shares[copied] + sum(shares[f"copy {n}"] for n in range(3)) == pytest.approx(own[copied])
    assert bought.votes.votes[-1].reason == f"copy of {copied}"


def test_equal_garbage_does_not_win(systems: dict[str, list[str]]) -> None:
    garbage = {f"garbage {n}": [GARBAGE] * 60 for n in range(6)}
    bought = toledo.choose_many({**systems, **garbage})
    assert GARBAGE not in bought.texts
    assert GARBAGE in toledo.choose_many({**systems, **garbage}, votes="equal").texts
    assert sum(bought.systems.values()) == 60
    assert all(bought.systems[name] == 0 for name in garbage)


def test_references_sharpen_votes(systems: dict[str, list[str]]) -> None:
    references = list(example_data(train=10, tune=10, test=60).test.references[0])
    learned = toledo.tune_votes(systems, references)
    shared = share_votes(systems)
    qualities = {}
    for name, texts in systems.items():
        scores = toledo.evaluate(texts, references, metrics=["bleu", "chrf"])
        qualities[name] = (scores["bleu"].score + scores["chrf"].score) / 2.0
    best = max(qualities.values())
    expected = {one.system: one.share * math.exp((qualities[one.system] - best) / TEMPERATURE) for one in shared.votes}
    total = sum(expected.values())
    for one in learned.votes:
        assert one.quality == pytest.approx(qualities[one.system])
        assert one.share == pytest.approx(expected[one.system] / total)


def test_votes_are_kept_in_a_file(systems: dict[str, list[str]], tmp_path: Path) -> None:
    votes = learn_votes(systems, [[text] for text in systems["A"]])
    votes.save(tmp_path / "votes.toml")
    loaded = toledo.SystemVotes.load(tmp_path / "votes.toml")
    assert [one.system for one in loaded.votes] == list(systems)
    assert loaded.shares_of(["D", "A"]) == pytest.approx(votes.shares_of(["D", "A"]), abs=1e-6)
    assert (
        toledo.choose_many(systems, votes=tmp_path / "votes.toml").texts
        == toledo.choose_many(systems, votes=loaded).texts
    )
    with pytest.raises(toledo.InputError, match="system 'E' has no vote"):
        toledo.choose_many({**systems, "E": systems["A"]}, votes=loaded)


def test_bad_votes_are_refused(systems: dict[str, list[str]], tmp_path: Path) -> None:
    with pytest.raises(toledo.InputError, match="votes is 'loud'"):
        toledo.choose_many(systems, votes="loud")
    (tmp_path / "votes.toml").write_text('[[vote]]\nsystem = "A"\nshare = -1\n')
    with pytest.raises(toledo.InputError, match="share is -1"):
        toledo.SystemVotes.load(tmp_path / "votes.toml")
    with pytest.raises(toledo.InputError, match="have votes, not weights"):
        toledo.choose_many(systems, weights=[[1, 1, 1, 1]] * 60)


def test_commands(systems: dict[str, list[str]], tmp_path: Path) -> None:
    files = []
    for name, texts in systems.items():
        (tmp_path / f"{name}.en").write_text("\n".join(texts) + "\n")
        files.append(str(tmp_path / f"{name}.en"))
    table = succeed("tune-votes", *files, "-r", files[0], "-o", tmp_path / "votes.toml")
    assert table.splitlines()[0].split() == ["system", "vote", "agreement", "quality"]
    learned = succeed("choose", *files, "--votes", tmp_path / "votes.toml").splitlines()
    assert learned == toledo.choose_many(systems, votes=tmp_path / "votes.toml").texts
    assert succeed("choose", *files).splitlines() == toledo.choose_many(systems).texts
    assert succeed("choose", *files, "--uniform").splitlines() == toledo.choose_many(systems, votes="equal").texts
    message = fail("choose", files[0], "-n", 2, "--votes", "equal")
    assert "votes are for the texts of several systems" in message


def test_the_mean_of_metrics_bounds_each() -> None:
    samples = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat", "dogs"]
    both = [toledo.choose(samples, metric=name).ranking for name in ("bleu", "chrf")]
    mean = toledo.choose(samples, metric="mean")
    known = [{one.text: one.score for one in ranking} for ranking in both]
    for one in mean.ranking:
        assert one.score == pytest.approx((known[0][one.text] + known[1][one.text]) / 2.0)
    assert mean.metric == "mean(BLEU,chrF2)"
