"""`toledo.Combination` and `toledo.combine`: texts in, texts out."""

from pathlib import Path

import pytest

import toledo
from toledo.combination.features import of_words

REFERENCES = [
    "The cat sat on the mat.",
    "Peter's house is very small.",
    "We saw the old man in Paris.",
    "Do you like the new car?",
]
SYSTEMS = {
    "one": ["The cat sat on mat.", "Peter's house is small.", "We saw the old man in Paris.", "Do you like the car?"],
    "two": ["The cat sits on the mat.", "Peter's house is very small.", "We saw an old man.", "Like you the new car?"],
    "three": [
        "A cat sat on the mat.",
        "The house is very small.",
        "We saw the old man in Paris.",
        "Do you like a car?",
    ],
}


@pytest.fixture(scope="module")
def combination() -> toledo.Combination:
    return toledo.Combination.tune(SYSTEMS, REFERENCES, entropy=[1.0], threads=1)


def test_the_table(combination: toledo.Combination) -> None:
    lines = str(combination).splitlines()
    assert lines[0].split() == ["system", "BLEU", "TER", "length", "share"]
    assert [line.split()[0] for line in lines[1:]] == ["one", "two", "three", "MBR", "combination"]
    assert len({line.index(".") for line in lines[1:]}) == 1
    assert len(lines[-1].split()) == 4
    assert [*combination.report.scores] == [*SYSTEMS, "MBR choice", "combination"]
    assert combination.combiner.settings.length == "consensus"
    assert sum(combination.shares.values()) == pytest.approx(1.0)
    assert combination.bleu["combination"] > max(combination.bleu[name] for name in SYSTEMS)
    assert repr(combination).startswith("Combination(one, two, three; BLEU ")
    assert combination.to_dict()["bleu"]["one"] == round(combination.bleu["one"], 6)
    assert "objective:lattice-expected-bleu|entropy:1|" in combination.signature
    assert [row["share"] is None for row in combination.rows_as_dicts()] == [False, False, False, True, True]
    assert combination.to_dict()["chosen"] == combination.report.chosen == "tuned, entropy 1"


def test_systems_are_known_by_name(combination: toledo.Combination, caplog: pytest.LogCaptureFixture) -> None:
    texts = combination.run(SYSTEMS)
    assert texts[2] == "We saw the old man in Paris."
    assert combination.run(dict(reversed(SYSTEMS.items())), threads=2) == texts
    assert len(combination.run({name: SYSTEMS[name] for name in ("one", "two")})) == 4
    assert "no output of three" in caplog.text
    with pytest.raises(toledo.InputError, match=r"system 'four' was not tuned with \(one, two, three\)"):
        combination.run({**SYSTEMS, "four": SYSTEMS["one"]})
    with pytest.raises(toledo.InputError, match="a combination needs two systems or more"):
        combination.run({"one": SYSTEMS["one"]})


def test_results_say_who_voted(combination: toledo.Combination) -> None:
    found = combination.decode(SYSTEMS)
    assert [one.text for one in found] == combination.run(SYSTEMS)
    assert str(found[2]) == "We saw the old man in Paris."
    assert dict(found[2].votes)["paris"] == ("one", "three")
    assert found[2].to_dict()["segment"] == 2
    forests = combination.forest(SYSTEMS)
    assert len(forests) == 4
    assert set(forests[0].feature_names) <= {*combination.weights}


def test_rules(combination: toledo.Combination) -> None:
    for rule in ("mbr", toledo.Consensus(), "lattice-mbr", "max-translation"):
        assert len(combination.run(SYSTEMS, rule=rule, scale=2.0)) == 4
    assert len(combination.run(SYSTEMS, rule="mbr", metric="chrf", size=5)) == 4
    with pytest.raises(toledo.InputError, match="rule 'viterbi' has no scale"):
        combination.run(SYSTEMS, rule="viterbi", scale=2.0)
    assert combination.run(SYSTEMS) == combination.run(SYSTEMS, rule="mbr", metric="bleu", scale=0.3)
    assert combination.run(SYSTEMS, metric="bleu", scale=0.3) == combination.run(SYSTEMS, scale=0.3)
    with pytest.raises(toledo.UnknownNameError, match="no rule 'mbrr': did you mean 'mbr'"):
        combination.run(SYSTEMS, rule="mbrr")


def test_files_lists_and_sequences(combination: toledo.Combination, tmp_path: Path) -> None:
    files = []
    for name, texts in SYSTEMS.items():
        files.append(tmp_path / f"sys.{name}.en")
        files[-1].write_text("\n".join(texts) + "\n")
    texts = combination.run(SYSTEMS)
    assert combination.run(files) == texts
    assert combination.run(list(map(str, files))) == texts
    single = [[text] for text in SYSTEMS["one"]]
    assert combination.run({**SYSTEMS, "one": single}) == texts
    best, second = SYSTEMS["one"], SYSTEMS["two"]
    scored = [[toledo.Hypothesis(b, -2.0), {"text": a, "score": -1.0}] for a, b in zip(best, second, strict=True)]
    ranked = [list(pair) for pair in zip(best, second, strict=True)]
    assert combination.run({**SYSTEMS, "one": scored}) == combination.run({**SYSTEMS, "one": ranked})


def test_a_saved_combination_does_the_same(combination: toledo.Combination, tmp_path: Path) -> None:
    combination.save(tmp_path / "combo")
    loaded = toledo.Combination.load(tmp_path / "combo")
    assert str(loaded) == str(combination)
    assert loaded.run(SYSTEMS) == combination.run(SYSTEMS)
    kept = toledo.Combination.tune(SYSTEMS, REFERENCES, entropy=[1.0], output=tmp_path / "kept")
    assert (tmp_path / "kept" / "combination.toml").read_bytes() == (
        tmp_path / "combo" / "combination.toml"
    ).read_bytes()
    assert kept.to_dict() == combination.to_dict()
    assert not (tmp_path / "kept" / "run").exists()


def test_pictures(combination: toledo.Combination) -> None:
    page = combination.show(SYSTEMS, [0, 2], sources=["a", "b", "c", "d"], references=REFERENCES)
    assert page.headings[:2] == ["Segment 0", "Segment 2"]
    with pytest.raises(toledo.InputError, match="there is no segment 9"):
        combination.show(SYSTEMS, [9])


def test_in_one_call(combination: toledo.Combination) -> None:
    texts = toledo.combine(SYSTEMS, tune=(SYSTEMS, REFERENCES), entropy=[1.0])
    assert texts == combination.run(SYSTEMS)
    with pytest.raises(TypeError, match="entropi"):
        toledo.combine(SYSTEMS, tune=(SYSTEMS, REFERENCES), entropi=[1.0])  # type: ignore[call-arg]


def test_candidates_are_shown_and_goals_are_mixed() -> None:
    systems = {name: texts * 12 for name, texts in SYSTEMS.items()}
    found = toledo.Combination.tune(
        systems, REFERENCES * 12, entropy=[1.0], document_ids=[str(number // 8) for number in range(48)]
    )
    assert [*found.report.validated] == ["MBR choice", "equal shares", "tuned, entropy 1"]
    lines = str(found).splitlines()
    assert lines[7].split() == ["cross-validated", "BLEU", "TER", "length", "value"]
    assert sum(line.endswith(" *") for line in lines) == 1
    assert f"chosen:{found.report.chosen}|" in found.signature
    mixed = toledo.Combination.tune(
        SYSTEMS,
        REFERENCES,
        entropy=[1.0],
        objective="list-expected-bleu",
        metrics=["bleu", "0.5*ter", "chrf"],
        bias=0.0,
    )
    assert len(mixed.run(SYSTEMS)) == 4


def test_language_models_and_features_of_users(tmp_path: Path) -> None:
    model = toledo.LanguageModel.train([text.lower() for text in REFERENCES], 2)
    long_words = of_words("long", 1, lambda words: float(len(words[-1]) > 4))
    given = {"entropy": [1.0], "lm_order": 2, "bias": 0.5}
    found = toledo.Combination.tune(
        SYSTEMS, REFERENCES, language_models=[model], lm_text=REFERENCES, features=["support.1", long_words], **given
    )
    assert {"lm", "support.1", "long"} <= {*found.weights}
    found.save(tmp_path / "combo")
    assert toledo.Combination.load(tmp_path / "combo", features=[long_words]).run(SYSTEMS) == found.run(SYSTEMS)


@pytest.mark.parametrize(("systems", "given", "message"), [
    ({"one": ["a"]}, {}, "two systems or more"),
    ({"one": ["a"], "two": ["a", "b"]}, {}, r"1 segments, but system 'two' has more"),
    ({"one": ["a"], "combination": ["b"]}, {}, "no system can be called combination"),
    ({"one": ["a"], "MBR choice": ["b"]}, {}, "no system can be called MBR choice"),
    ({"one": ["a"], "two": ["b"]}, {"document_ids": ["a", "b"]}, "systems has 1 segments, document_ids 2"),
    ({"one": ["a"], "two": ["b"]}, {"metrics": ["ter"]}, "ter cannot be tuned on lattices"),
    ({"one": ["a"], "two": ["b"]}, {"rule": "nonsense"}, "no rule 'nonsense'"),
    ({"one": ["a"], "two": ["b"]}, {"objective": "lattice-bleu", "metrics": ["nonsense"]}, "no metric 'nonsense'"),
    ({"one": ["a"], "two": toledo.Runs(["b"])}, {}, "several runs"),
    ({"one": [""], "two": [""]}, {}, "the outputs are empty"),
    ({"one": ["a"], "two": ["b"]}, {"sources": ["a", "b"]}, "systems has 1 segments, sources 2"),
    ({"one": ["a"], "two": ["b"]}, {"entropy": []}, "entropy is empty"),
    ({"one": ["a"], "two": ["b"]}, {"features": ["novel"]}, "no feature 'novel'"),
    ({"one": ["a"], "two": ["b"]}, {"language": "english"}, "no language 'english'"),
    ({"one": ["a"], "two": ["b"]}, {"lm_order": 7}, "lm_order"),
    ({"one": ["a"], "two": ["b"]}, {"resume": True}, "no run to continue"),
])  # fmt: skip
def test_what_is_refused(systems: dict, given: dict, message: str) -> None:
    with pytest.raises(toledo.InputError, match=message):
        toledo.Combination.tune(systems, ["a"], **given)


def test_what_is_no_text() -> None:
    with pytest.raises(TypeError, match=r"systems\['two'\]\[0\]"):
        toledo.Combination.tune({"one": ["a"], "two": [[3]]}, ["a"])
