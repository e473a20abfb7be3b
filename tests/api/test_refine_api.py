"""Refining as a function of texts."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest

import toledo
from toledo.api.align import align
from toledo.api.train import train
from toledo.errors import InputError, RunError
from toledo.model import PhraseModel
from toledo.refinement.settings import RefineSettings
from toledo.sample.corpus import generate

SMALL = RefineSettings(
    "phrase", folds=2, nbest=10, search="beam:pop_limit=10", rounds=1, rounds_again=1, objective="mira", iterations=1
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    folder = tmp_path_factory.mktemp("sample")
    generate(train=200, tune=5, test=5).save(folder)
    source, target = ((folder / f"train.{side}").read_text("utf-8").splitlines() for side in ("src", "trg"))
    return source, target


def test_a_model_is_refined(
    texts: tuple[list[str], list[str]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "toledo")
    sources, targets = texts
    model, dev = train(sources, targets, max_phrase_length=3, tokenized=True), (sources[:30], targets[:30])
    links = align(sources, targets)

    def refine(output: str, settings: RefineSettings = SMALL, resume: bool = False) -> toledo.Refinement:
        place = tmp_path / output
        return toledo.refine(
            model, sources, targets, tune=dev, dev=dev, settings=settings, alignments=links, output=place, resume=resume
        )

    found = refine("refined")
    assert [one.number for one in found.iterations] == [0, 1]
    assert found.iterations[0].objective is None
    lines = str(found).splitlines()
    assert lines[1].split()[:2] in (["0", "baseline"], ["0", "*"])
    assert lines[3].startswith("* the refined model; τ = 0.2, all rounds done")
    content = json.loads(json.dumps(found.to_dict()))
    assert [one["number"] for one in content["iterations"]] == [0, 1]
    assert found.signature.startswith("parameters:phrase|method:lbfgs|distance:ratios|")
    made = found.model.info().training["refining"]
    assert (made["parameters"], made["folds"], made["round"]) == ("phrase", 2, found.best)
    saved = PhraseModel.load(tmp_path / "refined")
    assert np.array_equal(saved.table.scores, found.model.phrase_model.table.scores)
    assert (tmp_path / "refined/run/lists").is_dir()
    (tmp_path / "refined/model.toml").rename(tmp_path / "model.toml")  # as if the end had not been reached
    for path in (tmp_path / "refined").glob("*.npy"):
        path.unlink()
    with pytest.raises(RunError, match="holds an unfinished run"):
        refine("refined")
    assert np.array_equal(refine("refined", resume=True).model.phrase_model.table.scores, saved.table.scores)
    with pytest.raises(InputError, match="`density`: only for `on=forests`"):
        refine("other", RefineSettings(density=3.0))
    assert not (tmp_path / "other").exists()
    with pytest.raises(InputError, match="tune sources has 2 segments, tune references 1"):
        toledo.refine(model, sources, targets, tune=(["a", "b"], ["a"]), dev=dev, output=tmp_path / "other")
