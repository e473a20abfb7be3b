"""From sentence pairs to a model in one call."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from command_line import fail, succeed

import toledo
from toledo.api import build as module
from toledo.api.build_texts import HeldOut, split_texts

PAIRS = [f"quelle {number}" for number in range(400)], [f"target {number}" for number in range(400)]


@pytest.fixture(scope="module")
def data() -> toledo.ExampleData:
    return toledo.example_data(train=400, tune=24, test=30)


def test_missing_sets_are_drawn_by_the_seed() -> None:
    split = split_texts(PAIRS, HeldOut(seed=3))
    assert [len(part[0]) for part in (split.train, split.dev, split.test)] == [360, 20, 20]
    assert split.what == "dev drawn by seed 3: 20 segments, test drawn by seed 3: 20 segments"
    everything = [*split.train[0], *split.dev[0], *split.test[0]]
    assert sorted(everything) == sorted(PAIRS[0])
    assert split_texts(PAIRS, HeldOut(seed=3)) == split
    assert split_texts(PAIRS, HeldOut(seed=4)).dev != split.dev
    for sources, references in (split.dev, split.test):
        assert [[one.replace("quelle", "target")] for one in sources] == references


def test_weights_and_stages_see_different_halves() -> None:
    split = split_texts(PAIRS, HeldOut())
    (tuned, _), (judged, _) = split.half(0), split.half(1)
    assert len(tuned) == len(judged) == 10
    assert sorted([*tuned, *judged]) == sorted(split.dev[0])


def test_references_of_both_halves_are_equally_long_for_their_sources() -> None:
    sources = ["source"] * 100
    references = ["long reference" if number % 2 else "short" for number in range(100)]  # as in odd and even lines
    split = split_texts(PAIRS, HeldOut((sources, references)))
    lengths = [sum(len(one) for (one,) in split.half(which)[1]) for which in range(2)]
    assert lengths[0] == lengths[1]


def test_documents_are_not_torn_apart() -> None:
    ids = [f"document {number // 8}" for number in range(400)]
    split = split_texts(PAIRS, HeldOut(document_ids=ids))
    document = dict(zip(PAIRS[0], ids, strict=True))
    parts = [split.train[0], split.half(0)[0], split.half(1)[0], split.test[0]]
    of_part = [{document[text] for text in part} for part in parts]
    assert sum(map(len, of_part)) == len(set().union(*of_part)) == 50
    assert len(split.dev[0]) == len(split.test[0]) == 24  # three documents each


def test_long_pairs_of_a_document_do_not_stay_behind() -> None:
    ids = [f"document {number // 8}" for number in range(400)]
    sources = [f"{text} long" * 60 if number % 8 == 0 else text for number, text in enumerate(PAIRS[0])]
    split = split_texts((sources, PAIRS[1]), HeldOut(document_ids=ids))
    document = dict(zip(sources, ids, strict=True))
    held_out = {document[text] for text in (*split.dev[0], *split.test[0])}
    assert not held_out & {document[text] for text in split.train[0]}


def test_a_pair_is_drawn_once() -> None:
    columns = [*PAIRS[0], *PAIRS[0]], [*PAIRS[1], *PAIRS[1]]
    split = split_texts(columns, HeldOut())
    drawn = [*split.dev[0], *split.test[0]]
    assert len(drawn) == len(set(drawn)) == 80
    assert not set(drawn) & set(split.train[0])


def test_another_run_is_not_removed(data: toledo.ExampleData, tmp_path: Path) -> None:
    (tmp_path / "built/run/tune").mkdir(parents=True)
    with pytest.raises(toledo.RunError, match="holds another run"):
        toledo.build(data.train.sources, data.train.targets, effort="quick", tokenized=True, output=tmp_path / "built")


def test_pairs_of_a_given_set_leave_the_training_text() -> None:
    dev = [f"quelle {number}" for number in range(30)], [f"target {number}" for number in range(30)]
    test = [f"quelle {number}" for number in range(30)], [f"another {number}" for number in range(30)]
    split = split_texts(PAIRS, HeldOut(dev, test))
    assert split.train[0] == PAIRS[0][30:]
    assert split.what == "dev given: 30 segments, test given: 30 segments"


def test_long_and_empty_pairs_are_not_drawn() -> None:
    columns = ["a " * 90, "", *PAIRS[0]], ["b", "b", *PAIRS[1]]
    split = split_texts(columns, HeldOut())
    assert not {"a " * 90, ""} & {*split.dev[0], *split.test[0]}


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(toledo.InputError, match="dev has 5 segments in 5 documents") as error:
        split_texts((PAIRS[0][:100], PAIRS[1][:100]), HeldOut())
    assert error.value.remedy == "give more pairs, or a `dev` set of at least 20 segments"


def test_a_model_is_built_and_translates_as_it_was_tested(data: toledo.ExampleData, tmp_path: Path) -> None:
    text, test = data.train, (data.test.sources, data.test.references)
    found = toledo.build(
        text.sources, text.targets, test=test, effort="quick", tokenized=True, output=tmp_path / "built"
    )
    assert [one.name for one in found.stages] == ["train", "tune"]
    assert str(found).splitlines()[0].split() == ["stage", "dev", "BLEU", "kept", "time", "what"]
    texts = toledo.load(tmp_path / "built/model").translate(data.test.sources, tokenized=True)
    again = toledo.evaluate(texts, data.test.references, tokenize="none")
    assert found.test["bleu"].score == again["bleu"].score
    stored = json.loads((tmp_path / "built/build.json").read_text("utf-8"))
    assert [one["name"] for one in stored["stages"]] == ["train", "tune"]
    assert "effort:quick" in found.signature
    page = (tmp_path / "built/report.html").read_text("utf-8")
    assert "Tuning: tune" in page
    assert "Scores" in page


def test_a_stage_that_does_not_help_is_left_out(
    data: toledo.ExampleData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores: Iterator[float] = iter([30.0, 29.0])
    monkeypatch.setattr(module._Builder, "score", lambda self, halves: next(scores))
    dev, test = (data.tune.sources, data.tune.references), (data.test.sources, data.test.references)
    text = data.train
    found = toledo.build(
        text.sources, text.targets, dev=dev, test=test, effort="quick", tokenized=True, output=tmp_path / "built"
    )
    assert [one.kept for one in found.stages] == [True, False]
    assert "no" in str(found).splitlines()[2].split()
    assert found.model.weights == toledo.load(tmp_path / "built/run/train").weights


@pytest.mark.parametrize("interrupted", ["tune", "rerank", "rule"])
def test_an_interrupted_build_continues_to_the_same_bytes(
    data: toledo.ExampleData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: str
) -> None:
    monkeypatch.setattr(module.BuildSettings, "refines", lambda self, pairs: False)
    monkeypatch.setattr(module.BuildSettings, "tuning", {"objective": "mira", "rounds": 2})
    dev, test = (data.tune.sources, data.tune.references), (data.test.sources, data.test.references)

    def build(name: str, *, resume: bool = False) -> toledo.Build:
        text, output = data.train, tmp_path / name
        return toledo.build(
            text.sources, text.targets, dev=dev, test=test, tokenized=True, output=output, resume=resume
        )

    whole = build("whole")
    with monkeypatch.context() as patch:
        original, calls = getattr(module._Builder, interrupted), count()

        def stop(self: object, *arguments: object) -> object:
            original(self, *arguments)
            if next(calls) == 0:
                raise KeyboardInterrupt
            return None

        patch.setattr(module._Builder, interrupted, stop)
        with pytest.raises(KeyboardInterrupt):
            build("stopped")
    with pytest.raises(toledo.RunError, match="holds an unfinished run"):
        build("stopped")
    resumed = build("stopped", resume=True)
    assert [one.score for one in resumed.stages] == [one.score for one in whole.stages]
    files = [file for file in (tmp_path / "whole/model").rglob("*") if file.is_file()]
    assert any(file.name == "reranker.toml" for file in files) == any(one.kept for one in whole.stages[2:3])
    for file in files:
        other = tmp_path / "stopped/model" / file.relative_to(tmp_path / "whole/model")
        assert file.read_bytes() == other.read_bytes(), file.name


def test_other_texts_cannot_resume(data: toledo.ExampleData, tmp_path: Path) -> None:
    text, output = data.train, tmp_path / "built"
    dev = data.tune.sources, data.tune.references
    given = {"effort": "quick", "tokenized": True, "output": output, "dev": dev}
    toledo.build(text.sources, text.targets, **given)  # type: ignore[arg-type]
    with pytest.raises(toledo.RunError, match="texts changed"):
        toledo.build(text.sources[::-1], text.targets[::-1], resume=True, **given)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path) -> None:
    toledo.example_data(train=900, tune=24, test=24, raw=True).save(tmp_path)
    options = ["-s", tmp_path / "train.src", "-t", tmp_path / "train.trg", "-o", tmp_path / "built"]
    message = fail("build", *options, "--dev-source", tmp_path / "tune.src")
    assert "the development set is incomplete" in message
    assert "give both --dev-source and --dev-reference" in message
    shown = succeed("build", *options, "--effort", "quick", "-q")
    assert shown.splitlines()[-1].startswith("test: BLEU ")
    translated = succeed("translate", tmp_path / "built/model", tmp_path / "test.src", "-q")
    assert len(translated.splitlines()) == 24


def test_a_line_of_further_text_that_is_in_the_pairs_counts_once(
    data: toledo.ExampleData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SeenError(Exception):
        pass

    def train(sources: list[str], targets: list[str], *, lm_text: list[str], **how: object) -> None:
        raise SeenError(lm_text == [*targets, "one new line"])

    monkeypatch.setattr(module, "train", train)
    dev, test = (data.tune.sources, data.tune.references), (data.test.sources, data.test.references)
    texts, more = (data.train.sources, data.train.targets), ["one new line", data.train.targets[3]]
    with pytest.raises(SeenError, match="True"):
        toledo.build(*texts, dev=dev, test=test, lm_text=more, tokenized=True, output=tmp_path / "built")
