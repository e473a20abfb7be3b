"""`toledo model info`: the numbers of a model's parts."""

import json
from pathlib import Path

import pytest
from command_line import fail, succeed

import toledo

SOURCES, TARGETS = ["lo huno nigro", "lo huno", "un huno"], ["the black dog", "the dog", "a dog"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("info") / "model"
    toledo.train(SOURCES, TARGETS, tokenized=True, reordering=True, lm_order=2, lexical="model1", output=folder)
    return folder


def test_parameters_are_counted(model: Path) -> None:
    found = json.loads(succeed("model", "info", model, "--json"))["result"]
    phrase_model = toledo.load(model).phrase_model
    rows = {(row["part"], row["kind"]): row["parameters"] for row in found["parameters"]}
    pairs = len(phrase_model.table)
    for feature in ("phrase.forward", "phrase.backward", "lexicon.forward", "lexicon.backward"):
        assert rows["phrase table", feature] == pairs
    assert rows["reordering", "msd, both directions"] == 6 * pairs
    words = {(s, t) for a, b in zip(SOURCES, TARGETS, strict=True) for s in a.split() for t in b.split()}
    assert 0 < rows["word lexicon", "IBM Model 1, forward"] <= len(words) + len({t for _, t in words})
    bigrams = {pair for text in TARGETS for pair in zip(["<s>", *text.split()], [*text.split(), "</s>"], strict=True)}
    assert rows["language model", "2-grams"] == len(bigrams)
    assert rows["weights", "features"] == len(found["weights"]) == len(phrase_model.feature_names)
    assert found["num_parameters"] == sum(rows.values())
    assert found["training"]["config"]["lm_order"] == 2
    assert found["weights"] == {name: phrase_model.weights[name] for name in phrase_model.feature_names}


def test_people_can_read_it(model: Path) -> None:
    text = succeed("model", "info", model)
    for part in ("phrase table", "IBM Model 1, backward", "2-grams", "total", "config.lm_order: 2", "rule: viterbi"):
        assert part in text
    assert toledo.load(model).signature in text


def test_what_is_no_model(tmp_path: Path) -> None:
    assert "is not a model" in fail("model", "info", tmp_path / "nothing")
