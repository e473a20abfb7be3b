"""Interrupted searches: signals are noticed, states are kept and given back."""

import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from toledo.cli.document.states import SavedStates, noticed_signals, with_records

from toledo.errors import InputError
from toledo.search.document.state import DocumentResult, Record, Snapshot
from toledo.text.corpus import Document


@pytest.mark.usefixtures("interruptible")
def test_the_first_signal_is_noticed_and_the_second_works() -> None:
    before, begun = signal.getsignal(signal.SIGINT), threading.Event()
    with noticed_signals(begun) as noticed:
        with pytest.raises(KeyboardInterrupt):  # there is nothing to keep yet
            signal.raise_signal(signal.SIGINT)
        assert not noticed
    begun.set()
    with noticed_signals(begun) as noticed:
        signal.raise_signal(signal.SIGINT)
        assert noticed == [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    with noticed_signals(begun) as noticed:
        signal.raise_signal(signal.SIGTERM)
    assert noticed == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGINT) is before


def test_states_are_kept_until_the_end(tmp_path: Path) -> None:
    states = [{"chosen": np.arange(3), "random": np.array([7], np.uint64)}, {"chosen": np.zeros(0, np.int32)}]
    saved = SavedStates(str(tmp_path / "out.xml"), {"text": [["a.xml", "digest"]]})
    assert saved.begin(resume=False) is None
    with pytest.raises(InputError, match="no interrupted search"):
        saved.begin(resume=True)
    records = (
        Record(0, -3.5, {"lm": -1.0, "pair:a→b": 2.0}, np.arange(10), None),
        Record(8, -2.5, {"lm": -0.5}, np.ones(10), None),
    )
    results = [SimpleNamespace(state=SimpleNamespace(to_arrays=lambda one=one: one), records=records) for one in states]
    saved.save(results)
    with pytest.raises(InputError, match="holds an interrupted search"):
        saved.begin(resume=False)
    with pytest.raises(InputError, match=r"cannot go on: text changed: a\.xml"):
        SavedStates(saved.output, {"text": [["a.xml", "other"]]}).begin(resume=True)
    found = saved.begin(resume=True)
    assert found is not None
    for one, other in zip(found, states, strict=True):
        for name in other:
            np.testing.assert_array_equal(one[name], other[name])
    snapshot = Snapshot((), 0.0, {}, None)
    document = Document("", ())
    rest = DocumentResult(document, snapshot, snapshot, (Record(16, -1.0, {"lm": 0.0}, None, None),), 16, 0, {}, None)
    steps = [(one.step, one.score, one.features["lm"]) for one in with_records(rest, found[1]).records]
    assert steps == [(0, -3.5, -1.0), (8, -2.5, -0.5), (16, -1.0, 0.0)]
    np.testing.assert_array_equal(with_records(rest, found[0]).records[0].bleu, np.arange(10))
    saved.remove()
    assert not list(tmp_path.iterdir())


def test_standard_output_has_no_place() -> None:
    saved = SavedStates("-", {})
    assert saved.save([]) is None
    with pytest.raises(InputError, match="standard output"):
        saved.begin(resume=True)
    saved.remove()
