"""Training by document chains: it raises expected BLEU, and an interrupted run goes on to the same result."""

from pathlib import Path

import numpy as np
import pytest
from small_documents import document_of, two_word_model

from toledo.errors import InputError
from toledo.metrics.bleu import BLEU
from toledo.model import Model
from toledo.search.document.models.readability import LengthParity
from toledo.tuning.checkpoint import Checkpoint
from toledo.tuning.documents.chains import Chains, ChainSettings, consensus_texts
from toledo.tuning.documents.trainer import DocumentTrainer
from toledo.tuning.documents.training import TrainingSettings, train_documents
from toledo.tuning.maximise import DeterministicAnnealing
from toledo.weights import Weights

SOURCES = [["a", "b", "a"], ["b", "a", "b", "b"], ["a", "b"]]
REFERENCES = [[["x", "z", "y"]], [["z", "x", "z", "z"], ["z", "x"]], [["x", "z"]]]
DOCUMENTS = [document_of(SOURCES[:k], REFERENCES[:k]) for k in (2, 1, 3)]
TRAINER = DocumentTrainer(batch=2, steps=4)
MODELS = [LengthParity()]


def model_of() -> Model:
    plain = two_word_model()
    return plain.with_weights(Weights({**plain.weights, "document.parity": 0.1}, frozenset({"oov"})))


def chains() -> Chains:
    return Chains(model_of(), DOCUMENTS, MODELS, ChainSettings(40, 1.0, 5.0, 2.0, "random"))


def test_it_raises_expected_bleu() -> None:
    found = train_documents(TRAINER, model_of().weights, chains(), TrainingSettings(8))
    scores = [one.after for one in found.history.rounds]
    assert scores[-1] > scores[0] + 10.0
    assert found.weights["oov"] == 1.0
    assert found.history.stopped.startswith("all rounds are done")


def test_annealing_ends_when_it_is_cold() -> None:
    trainer = DocumentTrainer(batch=3, steps=4, annealing=DeterministicAnnealing(0.1, 0.5, 0.02, steps=3), l2=0.01)
    found = train_documents(trainer, model_of().weights, chains(), TrainingSettings(100))
    assert [one.details["steps"] for one in found.history.rounds] == [4.0, 8.0, 9.0]
    assert found.history.stopped == "it is cold"


@pytest.mark.parametrize("judged", [False, True])
def test_an_interrupted_run_goes_on_to_the_same_result(tmp_path: Path, judged: bool) -> None:
    start, settings = model_of().weights, TrainingSettings(3, seed=5)
    whole = train_documents(TRAINER, start, chains(), settings, judge=(lambda w: w["lm"]) if judged else None)
    calls = []

    def fails(weights: Weights) -> float:
        calls.append(weights)
        if len(calls) == 3:  # at the start, after round 1, after round 2
            raise KeyboardInterrupt
        return weights["lm"]

    first = Checkpoint(tmp_path, {"seed": 5})
    if judged:
        with pytest.raises(KeyboardInterrupt):
            train_documents(TRAINER, start, chains(), settings, judge=fails, checkpoint=first)
    else:
        stopping = chains()
        sample = stopping.sample

        def some(*given):
            calls.append(given)
            if len(calls) == 6:
                raise KeyboardInterrupt
            return sample(*given)

        stopping.sample = some
        with pytest.raises(KeyboardInterrupt):
            train_documents(TRAINER, start, stopping, settings, checkpoint=first)
    with pytest.raises(InputError, match="interrupted tuning of 1 round"):
        train_documents(TRAINER, start, chains(), settings, checkpoint=first)
    resumed = train_documents(
        TRAINER, start, chains(), settings, judge=(lambda w: w["lm"]) if judged else None,
        checkpoint=Checkpoint(tmp_path, {"seed": 5}, resume=True),
    )  # fmt: skip
    assert dict(resumed.weights) == dict(whole.weights)
    for a, b in zip(resumed.history.rounds, whole.history.rounds, strict=True):
        assert (a.weights, a.path, a.held_out) == (b.weights, b.path, b.held_out)
    assert not list(tmp_path.glob("round-*"))


def test_nothing_to_tune_is_refused() -> None:
    model = model_of()
    frozen = Weights(dict(model.weights), frozenset(model.weights))
    with pytest.raises(InputError, match="nothing to tune"):
        train_documents(TRAINER, frozen, chains())
    with pytest.raises(ValueError, match="objective"):
        DocumentTrainer("bleu")
    with pytest.raises(ValueError, match="batch"):
        DocumentTrainer(batch=0)
    with pytest.raises(ValueError, match="chain"):
        ChainSettings(states=1)
    assert np.isfinite(TRAINER.temperature(0))


def test_the_last_rounds_are_averaged() -> None:
    model = model_of()
    found = train_documents(TRAINER, model.weights, chains(), TrainingSettings(3, best=False, last=2))
    second, third = (found.history.rounds[k].weights["lm"] for k in (1, 2))
    assert found.weights["lm"] == pytest.approx((second + third) / 2)


def test_consensus_is_the_text_that_agrees_most_with_the_samples() -> None:
    own = chains()
    (samples,) = own.sample([2], model_of().weights)
    vocabulary, texts = own.model.target_vocabulary, []
    for row in range(samples.offsets.size - 1):
        texts.append(vocabulary.words(samples.words[samples.offsets[row] : samples.offsets[row + 1]].tolist()))
    others = [["x", "z", "x"], ["y"] * 4, ["x", "y"]]
    for more in (None, others):
        found = consensus_texts(samples, vocabulary, more)
        for s in range(samples.sentences):
            evidence = texts[s * samples.states : (s + 1) * samples.states]
            hypotheses = [*([more[s]] if more else []), *evidence]
            gain = BLEU(smooth_method="add-k", smooth_value=0.01)
            values = [
                np.mean(gain.scores(gain.corpus_statistics([one] * len(evidence), [[other] for other in evidence])))
                for one in hypotheses
            ]
            assert list(found[s]) == hypotheses[int(np.argmax(np.round(values, 9)))]
