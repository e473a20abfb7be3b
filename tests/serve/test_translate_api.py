"""Translating, and deciding again: what the API says is what the package does."""

from itertools import pairwise

import pytest
from small_server import SENTENCE, V1, Client, model

from toledo.serve.names import FOREST_RULES

ALL = {"segments": [SENTENCE], "rules": ["viterbi", "mbr", "lattice-mbr"], "nbest": 12, "posteriors": 4, "keep": True}


@pytest.mark.parametrize("rule", FOREST_RULES)
def test_each_rule_chooses_what_the_package_chooses(client: Client, rule: str):
    texts = [SENTENCE, "das ist das haus", "klein", "neu wort"]
    found = client.result("/translate", {"segments": texts, "rules": [rule], "nbest": 1})
    assert [one["choices"][0]["text"] for one in found["segments"]] == model().translate(texts, rule=rule)
    plain = client.result("/translate", {"segments": texts, "rules": [rule]})
    assert [one["choices"][0]["text"] for one in plain["segments"]] == model().translate(texts, rule=rule)


def test_scale_metric_and_weights_are_those_of_the_package(client: Client):
    how = {"scale": 0.3, "metric": "chrf", "rule": "mbr"}
    weights = {**model().weights, "lm": 0.1, "word.penalty": 0.5}
    expected = model().translate([SENTENCE], **how, weights=weights)
    asked = {"segments": [SENTENCE], "rules": ["mbr"], "scale": 0.3, "metric": "chrf"}
    found = client.result("/translate", {**asked, "weights": {"lm": 0.1, "word.penalty": 0.5}})
    assert [found["segments"][0]["choices"][0]["text"]] == expected
    assert (found["scale"], found["metric"], found["weights"]["lm"]) == (0.3, "chrf", 0.1)


def test_a_translation_tells_all_about_itself(client: Client):
    (segment,) = client.result("/translate", ALL)["segments"]
    assert segment["source"] == SENTENCE.split()
    assert sorted(rule for one in segment["choices"] for rule in one["rules"]) == sorted(ALL["rules"])
    best = next(one for one in segment["choices"] if "viterbi" in one["rules"])
    spans = [tuple(one["target"]) for one in best["phrases"]]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(best["words"])
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert [len(row) for row in best["posteriors"]] == [
        min(4, len(best["words"]) - n) for n in range(len(best["words"]))
    ]
    assert all(0 <= value <= 1 for row in best["posteriors"] for value in row)
    assert best["score"] == pytest.approx(sum(model().weights[k] * v for k, v in best["features"].items()), abs=1e-4)
    assert segment["perplexity"] >= 1


def test_the_list_is_a_distribution_ranked_by_expected_score(client: Client):
    (segment,) = client.result("/translate", {**ALL, "nbest": 200})["segments"]
    entries = segment["nbest"]
    assert sum(one["probability"] for one in entries) == pytest.approx(1, abs=1e-4)
    assert [one["expected"] for one in entries] == sorted((one["expected"] for one in entries), reverse=True)
    by_score = sorted(entries, key=lambda one: one["score_rank"])
    assert [one["score"] for one in by_score] == sorted((one["score"] for one in entries), reverse=True)
    mbr = next(one for one in segment["choices"] if "mbr" in one["rules"])
    assert mbr["text"] == entries[0]["text"]


def test_unknown_words_are_named_and_copied(client: Client):
    (segment,) = client.result("/translate", {"segments": ["das unbekannt"]})["segments"]
    assert segment["unknown"] == ["unbekannt"]
    assert "unbekannt" in segment["choices"][0]["text"]


def test_empty_segments_and_requests(client: Client):
    assert client.result("/translate", {"segments": []})["segments"] == []
    (segment,) = client.result("/translate", {**ALL, "segments": [""]})["segments"]
    assert segment["choices"][0]["text"] == ""


def test_deciding_again_is_translating_with_other_weights(client: Client):
    key = client.result("/translate", ALL)["segments"][0]["forest"]["id"]
    again = client.result(f"/forests/{key}/decide", {"rules": ALL["rules"], "nbest": 12, "posteriors": 4})
    first = client.result("/translate", ALL)["segments"][0]
    assert {**again["segment"], "forest": None} == {**first, "forest": None}
    changed = client.result(
        f"/forests/{key}/decide", {"rules": ["viterbi"], "nbest": 5, "weights": {"word.penalty": 2.0}}
    )
    best = changed["segment"]["choices"][0]
    weights = {**model().weights, "word.penalty": 2.0}
    assert best["score"] == pytest.approx(sum(weights[k] * v for k, v in best["features"].items()), abs=1e-4)
    assert len(best["words"]) <= len(first["choices"][0]["words"])


def test_a_quick_decision_looks_at_the_list_alone(client: Client):
    key = client.result("/translate", ALL)["segments"][0]["forest"]["id"]
    for scale in (0.2, 1.0):
        asked = {"rules": ["viterbi", "mbr"], "scale": scale, "nbest": 5}
        quick, whole = (client.result(f"/forests/{key}/decide", {**asked, "quick": one}) for one in (True, False))
        assert quick["segment"]["nbest"] == whole["segment"]["nbest"]
        assert [one["text"] for one in quick["segment"]["choices"]] == [
            one["text"] for one in whole["segment"]["choices"]
        ]


def test_a_flat_distribution_has_a_higher_perplexity(client: Client):
    key = client.result("/translate", ALL)["segments"][0]["forest"]["id"]
    flat, sharp = (
        client.result(f"/forests/{key}/decide", {"scale": one})["segment"]["perplexity"] for one in (0.1, 3.0)
    )
    assert flat > sharp >= 1


def test_windows_of_a_forest(client: Client):
    key = client.result("/translate", ALL)["segments"][0]["forest"]["id"]
    whole = client.get(f"{V1}/forests/{key}?posterior=0&width=1e6&height=1e6").json()
    assert whole["share"] == 1
    assert whole["drawn"] <= whole["edges"]
    assert len(whole["placed_nodes"]) == whole["nodes"]
    part = client.get(f"{V1}/forests/{key}?posterior=0&x=0&y=0&width=50&height=1e6").json()
    assert 0 < len(part["placed_edges"]) < len(whole["placed_edges"])
    far = client.get(f"{V1}/forests/{key}?posterior=0&view=far&width=1e6&height=1e6").json()
    assert all(one["label"] == "" for one in far["placed_edges"])
    likely = client.get(f"{V1}/forests/{key}?posterior=0.3&width=1e6&height=1e6").json()
    assert likely["drawn"] < whole["drawn"]
    assert likely["share"] < 1
    assert client.get(f"{V1}/forests/{key}?posterior=0.3&format=svg").body.startswith(b"<svg ")
    assert client.get(f"{V1}/forests/{key}?posterior=0.3&format=dot").body.startswith(b"digraph")
