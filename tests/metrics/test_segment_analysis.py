"""Where systems differ: counts of n-grams, words and segments against plain programs that count one by one."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toledo
from toledo.metrics.analysis.buckets import FREQUENCIES, LENGTH_DIFFERENCES, LENGTHS, bucket_labels
from toledo.metrics.analysis.pairs import difference_histogram

SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=7)
SEGMENTS = st.integers(1, 4).flatmap(
    lambda size: st.tuples(
        *(st.lists(SENTENCES, min_size=size, max_size=size) for _ in range(2)),
        st.lists(st.lists(SENTENCES, min_size=1, max_size=3), min_size=size, max_size=size),
    )
)


def compare(first, second, references, **more):
    texts = [[" ".join(words) for words in some] for some in (first, second)]
    groups = toledo.References.per_segment([[" ".join(words) for words in group] for group in references])
    options = {"metrics": ["chrf", "ter"], "tokenize": "none", "resamples": 5, **more}
    return toledo.compare({"one": texts[0], "two": texts[1]}, groups, **options)


def ngrams(words, order):
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))


def matches(words, references, order):
    """N-grams of a text that are right, at most as often as in one of the references."""
    allowed = Counter()
    for reference in references:
        allowed |= ngrams(reference, order)
    return ngrams(words, order) & allowed


@given(SEGMENTS)
def test_ngrams_are_counted_as_in_bleu_and_ranked_by_their_share(texts):
    first, second, references = texts
    (pair,) = compare(first, second, references).analyze().pairs
    expected, places = {}, {}
    for order in range(1, 5):
        ours, theirs = (
            [matches(*one, order) for one in zip(some, references, strict=True)] for some in (second, first)
        )
        for gram in {gram for counts in ours + theirs for gram in counts}:
            a, b = (sum(counts[gram] for counts in some) for some in (ours, theirs))
            more, fewer = (ours, theirs) if a > b else (theirs, ours)
            expected[" ".join(gram)] = a, b, (a + 1) / (a + b + 2)
            places[" ".join(gram)] = [i for i, (x, y) in enumerate(zip(more, fewer, strict=True)) if x[gram] > y[gram]]
    for found, sign in ((pair.won, 1), (pair.lost, -1)):
        for one in found:
            assert (one.system, one.baseline, one.share) == expected[one.text]
            assert list(one.segments) == places[one.text]
            assert one.order == len(one.text.split())
        shares = sorted((s for _, _, s in expected.values() if sign * (s - 0.5) > 0), reverse=sign > 0)
        assert [one.share for one in found] == shares[:10]


@given(SEGMENTS, st.sampled_from([None, {"a": 1, "b": 4, "d": 5000}]))
def test_accuracy_of_words_by_frequency(texts, frequency):
    first, second, references = texts
    lines = None if frequency is None else (" ".join([word] * count) for word, count in frequency.items())
    found = compare(first, second, references).analyze(frequency_text=lines).by_frequency
    known = frequency or Counter(word for group in references for words in group for word in words)
    labels = bucket_labels(FREQUENCIES)
    expected = {label: {name: [0, 0, 0] for name in ("one", "two")} for label in labels}
    for name, some in (("one", first), ("two", second)):
        for words, group in zip(some, references, strict=True):
            for reference in group:
                parts = Counter(words) & Counter(reference), Counter(words), Counter(reference)
                for place, counts in enumerate(parts):
                    for word, count in counts.items():
                        bucket = sum(known.get(word, 0) >= limit for limit in FREQUENCIES)
                        expected[labels[bucket]][name][place] += count
    assert {
        bucket.label: {name: [one.matches, one.in_system, one.in_references] for name, one in bucket.systems.items()}
        for bucket in found
    } == {label: counts for label, counts in expected.items() if any(map(any, counts.values()))}
    for one in (accuracy for bucket in found for accuracy in bucket.systems.values()):
        if one.matches:
            precision, recall = one.matches / one.in_system, one.matches / one.in_references
            assert (one.precision, one.recall) == (precision, recall)
            assert one.f == pytest.approx(2 * precision * recall / (precision + recall))
        else:
            assert one.f == 0


@given(SEGMENTS)
def test_segments_by_length_and_by_score(texts):
    first, second, references = texts
    comparison = compare(first, second, references)
    analysis = comparison.analyze()
    closest = [
        [
            min((abs(len(words) - len(one)), len(one)) for one in group)[1]
            for words, group in zip(some, references, strict=True)
        ]
        for some in (first, second)
    ]
    for name, some, lengths in zip(("one", "two"), (first, second), closest, strict=True):
        places = [
            sum(len(words) - length >= limit for limit in LENGTH_DIFFERENCES)
            for words, length in zip(some, lengths, strict=True)
        ]
        expected = Counter(bucket_labels(LENGTH_DIFFERENCES)[place] for place in places)
        assert {
            one.label: one.segments[name] for one in analysis.by_length_difference if one.segments[name]
        } == expected
        assert sum(one.segments[name] for one in analysis.by_score) == len(some)
    (bucket,) = analysis.by_length  # all references have fewer than ten words
    assert (bucket.label, bucket.segments) == ("<10", len(references))
    assert bucket.scores == {name: system["chrf"].score for name, system in comparison.systems.items()}


def test_scores_by_length_are_those_of_the_segments_alone():
    sizes = [3, 12, 35, 19, 70, 12, 11, 17]
    references = [[[f"w{i}" for i in range(size)]] for size in sizes]
    first = [group[0][:-1] + ["x"] for group in references]
    second = [group[0][1 + place % 3 :] for place, group in enumerate(references)]
    found = compare(first, second, references, resamples=100).analyze(metric="ter").by_length
    assert [(one.label, one.segments) for one in found] == [("<10", 1), ("10–19", 5), ("30–39", 1), ("60+", 1)]
    own = [place for place, size in enumerate(sizes) if 10 <= size < 20]
    for name, some in (("one", first), ("two", second)):
        texts = [" ".join(some[place]) for place in own]
        alone = toledo.evaluate(
            texts, [[" ".join(references[place][0])] for place in own], metrics="ter", interval=None
        )
        assert found[1].scores[name] == pytest.approx(alone.ter.score)
    (difference,) = found[1].differences
    assert difference.difference == pytest.approx(found[1].scores["two"] - found[1].scores["one"])
    assert difference.interval.low <= difference.difference <= difference.interval.high
    assert found[0].differences[0].interval is None  # one segment
    assert LENGTHS[:2] == (10, 20)


def test_wins_are_gains_of_metrics_for_which_less_is_better_too():
    references = [["a b c d"], ["e f g h"], ["i j k l"]]
    comparison = toledo.compare(
        {"one": ["a b c d", "x x x x", "i j k l"], "two": ["a b c x", "e f g x", "i j k l"]},
        toledo.References.per_segment(references),
        metrics=["ter", "chrf"],
        resamples=5,
    )
    for metric, gains in (("ter", [-25, 75, 0]), ("chrf", None)):
        (pair,) = comparison.analyze(metric=metric).pairs
        assert (pair.wins, pair.ties, pair.losses) == (1, 1, 1)
        assert [one.segment for one in pair.best] == [1]
        assert [one.segment for one in pair.worst] == [0]
        if gains:
            assert pair.gains == pytest.approx(gains)
    (swapped,) = comparison.analyze("one", "two", metric="ter").pairs
    assert swapped.gains == pytest.approx([25, -75, 0])


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=30))
def test_the_histogram_counts_all_and_is_mirrored_when_systems_are_swapped(gains):
    bars, places = difference_histogram(np.array(gains))
    for gain, place in zip(gains, places.tolist(), strict=True):
        low, high = bars[place].low, bars[place].high
        if abs(gain) <= 1e-9:
            assert low == high == 0
        elif gain > 0:
            assert (low or 0) <= gain * (1 + 1e-9)
            assert high is None or gain < high * (1 + 1e-9)
        else:
            assert (high or 0) >= gain * (1 + 1e-9)
            assert low is None or gain > low * (1 + 1e-9)
    assert [one.segments for one in bars] == [places.tolist().count(place) for place in range(11)]
    mirrored, _ = difference_histogram(-np.array(gains))
    assert [one.segments for one in mirrored] == [one.segments for one in reversed(bars)]


def test_one_segment_empty_texts_and_no_words_at_all():
    for first, second, reference in product([[], ["a"], ["a", "b"]], repeat=3):
        analysis = compare([first], [second], [[reference]]).analyze()
        assert sum((analysis.pairs[0].wins, analysis.pairs[0].ties, analysis.pairs[0].losses)) == 1
        assert str(analysis)
        assert analysis.to_dict()["pairs"][0]["system"] == "two"


def test_metrics_without_references_have_no_words_but_segments():
    def length(hypotheses, references, sources):
        return [float(len(text)) for text in hypotheses]

    metric = toledo.utility(length, needs=())
    comparison = toledo.compare({"one": ["a", "bb"], "two": ["aaa", "b"]}, metrics=[metric], resamples=5)
    analysis = comparison.analyze()
    assert analysis.pairs[0].gains.tolist() == [2, -1]
    assert (analysis.by_length, analysis.by_frequency, analysis.pairs[0].won) == ((), (), ())
    assert "line 1: +2.00 (1.00 → 3.00)" in str(analysis)


def test_bucket_names():
    assert bucket_labels([10, 20, 21]) == ["<10", "10–19", "20", "21+"]
    assert bucket_labels([-20, -10, -9, 0]) == ["<−20", "−20 to −11", "−10", "−9 to −1", "0+"]
    assert bucket_labels([1, 2]) == ["0", "1", "2+"]
