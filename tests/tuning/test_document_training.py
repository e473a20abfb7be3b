"""Training by document chains: it raises expected BLEU, and an interrupted run goes on to the same result."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_documents import document_of, two_word_model

from toledo.errors import InputError, RunError
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.runs.checkpoint import Checkpoint
from toledo.search.document.models.readability import LengthParity
from toledo.tuning.documents.chains import Chains, ChainSettings, consensus_texts
from toledo.tuning.loop import LoopSettings
from toledo.tuning.maximize import DeterministicAnnealing
from toledo.tuning.minimum_risk.trainer import DOCUMENT_RISK, MinimumRisk
from toledo.tuning.minimum_risk.training import DocumentSource, train
from toledo.weights import Weights

SOURCES = [["a", "b", "a"], ["b", "a", "b", "b"], ["a", "b"]]
REFERENCES = [[["x", "z", "y"]], [["z", "x", "z", "z"], ["z", "x"]], [["x", "z"]]]
DOCUMENTS = [document_of(SOURCES[:k], REFERENCES[:k]) for k in (2, 1, 3)]
TRAINER = replace(DOCUMENT_RISK, batch=2, steps=4)
MODELS = [LengthParity()]


def model_of() -> PhraseModel:
    plain = two_word_model()
    return plain.with_weights(Weights({**plain.weights, "document.parity": 0.1}, frozenset({"oov"})))


def chains() -> Chains:
    return Chains(model_of(), DOCUMENTS, MODELS, ChainSettings(40, 1.0, 5.0, 2.0, "random"))


def test_it_raises_expected_bleu() -> None:
    found = train(TRAINER, model_of().weights, DocumentSource(chains()), LoopSettings(8))
    scores = [one.score for one in found.history.rounds]
    assert scores[-1] > scores[0] + 10.0
    assert found.weights["oov"] == 1.0
    assert found.history.stopped.startswith("all rounds done")


def test_training_ends_when_annealing_has_finished() -> None:
    trainer = replace(
        DOCUMENT_RISK, batch=3, steps=4, annealing=DeterministicAnnealing(0.1, 0.5, 0.02, steps=3), l2=0.01
    )
    found = train(trainer, model_of().weights, DocumentSource(chains()), LoopSettings(100))
    assert [one.details["steps"] for one in found.history.rounds] == [4.0, 8.0, 9.0]
    assert found.history.stopped == "annealing finished"


@pytest.mark.parametrize("judged", [False, True])
def test_an_interrupted_run_goes_on_to_the_same_result(tmp_path: Path, judged: bool) -> None:
    start, settings = model_of().weights, LoopSettings(3, seed=5)
    judge = (lambda w: w["lm"]) if judged else None
    whole = train(TRAINER, start, DocumentSource(chains(), judge), settings)
    calls = []

    def fails(weights: Weights) -> float:
        calls.append(weights)
        if len(calls) == 3:  # at the start, after round 1, after round 2
            raise KeyboardInterrupt
        return weights["lm"]

    first = Checkpoint(tmp_path, {"seed": 5})
    if judged:
        with pytest.raises(KeyboardInterrupt):
            train(TRAINER, start, DocumentSource(chains(), fails), settings, checkpoint=first)
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
            train(TRAINER, start, DocumentSource(stopping), settings, checkpoint=first)
    with pytest.raises(RunError, match="holds an unfinished run"):
        train(TRAINER, start, DocumentSource(chains()), settings, checkpoint=first)
    again = Checkpoint(tmp_path, {"seed": 5}, resume=True)
    resumed = train(TRAINER, start, DocumentSource(chains(), judge), settings, checkpoint=again)
    assert dict(resumed.weights) == dict(whole.weights)
    for a, b in zip(resumed.history.rounds, whole.history.rounds, strict=True):
        assert (a.weights, a.path, a.dev_score) == (b.weights, b.path, b.dev_score)
    assert not list(tmp_path.glob("round-*"))


def test_nothing_to_tune_is_refused() -> None:
    model = model_of()
    frozen = Weights(dict(model.weights), frozenset(model.weights))
    with pytest.raises(InputError, match="nothing to tune"):
        train(TRAINER, frozen, DocumentSource(chains()))
    with pytest.raises(ValueError, match="objective"):
        MinimumRisk("bleu")
    with pytest.raises(ValueError, match="batch"):
        MinimumRisk(batch=0)
    with pytest.raises(ValueError, match="chain"):
        ChainSettings(states=1)
    assert np.isfinite(TRAINER.temperature(0))


def test_the_last_rounds_are_averaged() -> None:
    model = model_of()
    found = train(TRAINER, model.weights, DocumentSource(chains()), LoopSettings(3), average=2)
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
