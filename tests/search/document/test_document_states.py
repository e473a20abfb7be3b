"""Interrupted searches: signals are noticed, states are kept and given back."""

import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from toledo.errors import RunError
from toledo.runs.checkpoint import Checkpoint, deferred_signals, digest
from toledo.search.document.state import DocumentResult, Record, Snapshot
from toledo.text.corpus import Document


@pytest.mark.usefixtures("interruptible")
def test_the_first_signal_is_noticed_and_the_second_works() -> None:
    before, begun = signal.getsignal(signal.SIGINT), threading.Event()
    with deferred_signals(begun) as noticed:
        with pytest.raises(KeyboardInterrupt):  # there is nothing to keep yet
            signal.raise_signal(signal.SIGINT)
        assert not noticed
    begun.set()
    with deferred_signals(begun) as noticed:
        signal.raise_signal(signal.SIGINT)
        assert noticed == [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    with deferred_signals(begun) as noticed:
        signal.raise_signal(signal.SIGTERM)
    assert noticed == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGINT) is before


def test_states_are_kept_until_the_end(tmp_path: Path) -> None:
    states = [{"chosen": np.arange(3), "random": np.array([7], np.uint64)}, {"chosen": np.zeros(0, np.int32)}]
    place, configuration = tmp_path / "out.xml.states", {"text": digest("a")}
    new, resumed = (Checkpoint(place, configuration, resume) for resume in (False, True))
    assert new.load_states("documents") is None
    assert resumed.load_states("documents") is None
    records = (
        Record(0, -3.5, {"lm": -1.0, "pair:a→b": 2.0}, np.arange(10), None),
        Record(8, -2.5, {"lm": -0.5}, np.ones(10), None),
    )
    snapshot, document = Snapshot((), 0.0, {}, None), Document("", ())
    results = [
        DocumentResult(document, snapshot, snapshot, records, 8, 0, {}, SimpleNamespace(to_arrays=lambda one=one: one))
        for one in states
    ]
    new.save_states("documents", [result.saved_arrays() for result in results])
    with pytest.raises(RunError, match="holds an unfinished run"):
        new.load_states("documents")
    with pytest.raises(RunError, match="settings differ: text changed"):
        Checkpoint(place, {"text": digest("b")}, resume=True).load_states("documents")
    found = resumed.load_states("documents")
    assert found is not None
    for one, other in zip(found, states, strict=True):
        for name in other:
            np.testing.assert_array_equal(one[name], other[name])
    rest = DocumentResult(document, snapshot, snapshot, (Record(16, -1.0, {"lm": 0.0}, None, None),), 16, 0, {}, None)
    steps = [(one.step, one.score, one.features["lm"]) for one in rest.with_saved_records(found[1]).records]
    assert steps == [(0, -3.5, -1.0), (8, -2.5, -0.5), (16, -1.0, 0.0)]
    np.testing.assert_array_equal(rest.with_saved_records(found[0]).records[0].bleu, np.arange(10))
    resumed.remove()
    assert not list(tmp_path.iterdir())
