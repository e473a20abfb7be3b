"""COMET by a checkpoint of random weights: the numbers of COMET itself, each text encoded once."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, succeed
from neural_models import import_quietly, needs_comet, refuse_network, save_checkpoint

import toledo
from toledo.consensus.gains import MeanGain
from toledo.metrics.comet import checkpoint_file

pytestmark = pytest.mark.filterwarnings("ignore")
SOURCES = ["Die Katze saß auf der Matte.", "Hallo.", "Er wartet auf den Zug, der nie kommt."]
SAID = ["The cat sat on the mat.", "Hi!", "He is waiting for the train that never comes."]
MEANT = ["A cat sat on a mat.", "Hello.", "He waits for a train which does not come."]
SAMPLES = ["The cat sat on the mat.", "A cat sat.", "The cat is sitting on a mat.", "Cats!", "The cat sat on the mat."]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import_quietly("comet")
    return save_checkpoint(tmp_path_factory.mktemp("wmt00-comet"))


def predicted(checkpoint: Path, rows: list[dict[str, str]], batch_size: int = 2) -> list[float]:
    """The scores of COMET itself."""
    from comet import load_from_checkpoint

    model = load_from_checkpoint(str(checkpoint_file(checkpoint)), local_files_only=True)
    return [100 * one for one in model.predict(rows, batch_size, gpus=0, progress_bar=False, accelerator="cpu").scores]


def triples(said: list[str], meant: list[str], sources: list[str]) -> list[dict[str, str]]:
    return [{"mt": one, "ref": other, "src": source} for one, other, source in zip(said, meant, sources, strict=True)]


@needs_comet
def test_scores_are_those_of_comet(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = predicted(checkpoint, triples(SAID, MEANT, SOURCES))
    assert np.ptp(wanted) > 1e-3  # the texts do not have one and the same score
    refuse_network(monkeypatch)
    metric = toledo.COMET(checkpoint, device="cpu", batch_size=2)
    assert metric.sentence_scores(SAID, [MEANT], SOURCES) == pytest.approx(wanted, abs=1e-4)
    assert metric.corpus_score(SAID, [MEANT], SOURCES).score == pytest.approx(np.mean(wanted), abs=1e-4)
    assert metric.name.startswith("COMET:wmt00-comet")
    found = toledo.evaluate(SAID, MEANT, sources=SOURCES, metrics=f"comet:{checkpoint}", resamples=10)
    assert found["comet"].score == pytest.approx(np.mean(wanted), abs=1e-4)
    other = [text.upper() for text in SAID]
    compared = toledo.compare([SAID, other], MEANT, sources=SOURCES, metrics=metric, resamples=10)
    theirs = predicted(checkpoint, triples(other, MEANT, SOURCES))
    assert compared.tests[0].difference == pytest.approx(np.mean(theirs) - np.mean(wanted), abs=1e-4)


@needs_comet
def test_exact_choice_and_average(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list(dict.fromkeys(SAMPLES))
    pairs = [(one, other) for one in texts for other in texts]
    rows = triples([one for one, _ in pairs], [other for _, other in pairs], [SOURCES[0]] * len(pairs))
    matrix = np.array(predicted(checkpoint, rows, 7)).reshape(len(texts), len(texts))
    metric, encoded = toledo.COMET(checkpoint), []
    encode = toledo.COMET.encode_texts
    monkeypatch.setattr(toledo.COMET, "encode_texts", lambda self, some: encoded.extend(some) or encode(self, some))
    choice = toledo.choose(SAMPLES, metric=metric, source=SOURCES[0])
    assert choice.score == pytest.approx((matrix @ [0.4, 0.2, 0.2, 0.2]).max(), abs=1e-4)
    assert choice.num_calls == 16
    assert sorted(encoded) == sorted([*texts, SOURCES[0]])  # each once
    weighted = toledo.choose(SAMPLES[:4], metric=metric, source=SOURCES[0], logprobs=[-1.0, -2.0, -3.0, -9.0])
    shares = np.exp([-1.0, -2.0, -3.0, -9.0])
    assert weighted.score == pytest.approx((matrix @ shares).max() / shares.sum(), abs=1e-4)
    some = toledo.choose(SAMPLES, metric=metric, source=SOURCES[0], rule="elimination-mbr")
    assert some.num_calls <= 16
    average = toledo.choose(SAMPLES, metric=metric, source=SOURCES[0], aggregate=True)
    assert (average.num_calls, len(encoded)) == (4, 5)
    vectors = metric.vectors([*texts, SOURCES[0]])
    mean = np.array([0.4, 0.2, 0.2, 0.2], np.float32) @ vectors[:4]
    own = metric.score_vectors(vectors[:4], np.tile(mean, (4, 1)), np.tile(vectors[4], (4, 1)))
    assert average.score == pytest.approx(np.max(own), abs=1e-4)


@needs_comet
@pytest.mark.skipif(find_spec("mbrs") is None, reason="mbrs is not installed")
def test_the_choices_of_mbrs(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_quietly("mbrs")
    from mbrs.decoders import DecoderAggregateMBR, DecoderMBR
    from mbrs.metrics import comet

    monkeypatch.setattr(comet, "download_model", str)  # it would look for the path on the network first
    peer = comet.MetricCOMET(comet.MetricCOMET.Config(model=str(checkpoint_file(checkpoint)), cpu=True))
    metric, samples = toledo.COMET(checkpoint), list(dict.fromkeys([*SAMPLES, *SAID, *MEANT]))
    for kind, average in (DecoderMBR, False), (DecoderAggregateMBR, True):
        theirs = kind(kind.Config(), peer).decode(samples, samples, SOURCES[0], nbest=3)
        ours = toledo.choose(samples, metric=metric, source=SOURCES[0], aggregate=average)
        assert [one.text for one in ours.ranking[:3]] == theirs.sentence
        assert [one.score for one in ours.ranking[:3]] == pytest.approx(100 * np.array(theirs.score), abs=1e-3)


@needs_comet
def test_many_segments_and_a_mean_with_chrf(checkpoint: Path) -> None:
    lists = [SAMPLES, ["Hi!", "Hello.", "Hallo"], ["He waits.", "He is waiting.", "Waiting"]]
    metric = toledo.COMET(checkpoint)
    many = toledo.choose_many(lists, sources=SOURCES, metric=metric)
    assert many.texts == [
        toledo.choose(some, source=source, metric=metric).text for some, source in zip(lists, SOURCES, strict=True)
    ]
    mean = toledo.choose(SAMPLES, source=SOURCES[0], metric=MeanGain(("chrf", f"comet:{checkpoint}")))
    both = [toledo.choose(SAMPLES, source=SOURCES[0], metric=one) for one in ("chrf", metric)]
    ours = [{one.text: one.score for one in choice.ranking} for choice in both]
    assert mean.score == pytest.approx(max(np.mean([one[text] for one in ours]) for text in ours[0]), abs=1e-4)


@needs_comet
def test_the_command_line(checkpoint: Path, tmp_path: Path) -> None:
    (tmp_path / "src.de").write_text("".join(f"{text}\n" for text in SOURCES), encoding="utf-8")
    for name, texts in {"A": SAID, "B": MEANT, "C": SAID[:1] + MEANT[1:]}.items():
        (tmp_path / f"{name}.en").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    files = [tmp_path / f"{name}.en" for name in "ABC"]
    chosen = succeed("choose", *files, "--source", tmp_path / "src.de", "--metric", f"comet:{checkpoint}")
    metric = toledo.COMET(checkpoint)
    assert (
        chosen.splitlines()
        == toledo.choose_many({file.stem: file for file in files}, sources=SOURCES, metric=metric).texts
    )
    scored = succeed(
        "evaluate", files[0], "-r", files[1], "--source", tmp_path / "src.de", "--metric", f"comet:{checkpoint}"
    )
    assert f"{metric.corpus_score(SAID, [MEANT], SOURCES).score:.2f}" in scored
    assert "needs sources" in fail("choose", *files, "--metric", f"comet:{checkpoint}")


@needs_comet
@pytest.mark.parametrize("kind", ["referenceless_regression_metric", "unified_metric"])
def test_checkpoints_without_references(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_quietly("comet")
    directory = save_checkpoint(tmp_path, kind)
    wanted = predicted(directory, [{"mt": one, "src": source} for one, source in zip(SAID, SOURCES, strict=True)])
    refuse_network(monkeypatch)
    metric = toledo.COMETKiwi(directory, batch_size=2)
    assert toledo.evaluate(SAID, sources=SOURCES, metrics=metric).segments[metric.name.lower()] == pytest.approx(
        wanted, abs=1e-4
    )
    best = toledo.choose(SAMPLES, source=SOURCES[0], rule=f"rerank:metric=cometkiwi:{directory}")
    alone = metric.sentence_scores(SAMPLES, None, [SOURCES[0]] * len(SAMPLES))
    assert best.text == SAMPLES[int(np.argmax(alone))]
    both = [f"rerank:metric=cometkiwi:{directory},keep=2", "mbr"]
    assert toledo.choose(SAMPLES, source=SOURCES[0], rule=both).text in SAMPLES
    with pytest.raises(toledo.InputError, match=f"is a {kind}"):
        toledo.choose(SAMPLES, source=SOURCES[0], metric=toledo.COMET(directory))


@needs_comet
def test_an_encoder_that_is_not_there(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = save_checkpoint(tmp_path / "moved")
    (directory / "encoder").rename(tmp_path / "elsewhere")
    refuse_network(monkeypatch)
    with pytest.raises(toledo.InputError, match="is not on this machine") as error:
        toledo.COMET(directory).vectors(["a"])
    assert "snapshot_download" in error.value.remedy


@needs_comet
def test_a_checkpoint_with_code_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    import torch

    directory = save_checkpoint(tmp_path)
    file = checkpoint_file(directory)
    torch.save({**torch.load(file), "more": Path("a")}, file)
    with pytest.raises(toledo.InputError, match="more than weights"):
        toledo.COMET(directory).vectors(["a"])


@needs_comet
def test_comet_and_toledo_in_one_process(checkpoint: Path) -> None:
    program = f"""
import comet, toledo
model = comet.load_from_checkpoint({str(checkpoint_file(checkpoint))!r}, local_files_only=True)
rows = [dict(src="Hallo.", mt=text, ref="Hello.") for text in ("Hi!", "Hello there.")]
theirs = model.predict(rows, 2, gpus=0, progress_bar=False, accelerator="cpu").scores
print(toledo.choose(["a b c", "a b d", "e"], metric="bleu"), toledo.choose(["a b c", "a b d", "e"]), *theirs)
"""
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    words = found.stdout.split()
    assert words[:6] == ["a", "b", "c", "a", "b", "c"]
    assert len({float(word) for word in words[6:]}) == 2


def test_paths_that_are_no_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(toledo.InputError, match="there is no checkpoint 'Unbabel/wmt22-comet-da'") as error:
        toledo.choose(["a", "b"], metric="comet:Unbabel/wmt22-comet-da")
    assert "download_model" in error.value.remedy
    with pytest.raises(toledo.InputError, match="0 checkpoints"):
        toledo.COMET(tmp_path)
    (tmp_path / "model.ckpt").touch()
    with pytest.raises(toledo.InputError, match="hparams"):
        toledo.COMETKiwi(tmp_path / "model.ckpt")


class Broken:
    """What COMET is in an environment without `pkg_resources`."""

    def __getattr__(self, name: str) -> None:
        raise ModuleNotFoundError("No module named 'pkg_resources'")


@pytest.mark.parametrize("missing", ["comet", "pkg_resources"])
def test_packages_that_are_missing(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "model.ckpt").touch()
    (tmp_path / "hparams.yaml").touch()
    monkeypatch.setitem(sys.modules, "yaml", object())
    monkeypatch.setitem(sys.modules, "comet", Broken() if missing == "pkg_resources" else None)
    with pytest.raises(toledo.MissingExtraError) as error:
        toledo.COMET(tmp_path).vectors(["a"])
    assert ("setuptools<81" if missing == "pkg_resources" else "toledo-mt[comet]") in error.value.remedy
