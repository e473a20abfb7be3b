"""Names of things: listed, looked up, registered."""

import pytest

import toledo
from toledo.metrics.registry import METRICS


def test_names_and_classes() -> None:
    assert toledo.names("metrics")[:2] == ["bleu", "chrf"]
    assert {"mert", "xbleu"} <= {*toledo.names("objectives")}
    assert "consistency" in toledo.names("document_models")
    assert "plf" in toledo.names("formats")
    assert toledo.get("metrics", "BLEU") is toledo.BLEU
    assert toledo.get("aligners", "hmm").__name__ == "HMM"
    assert toledo.get("formats", "plf")
    for kind, name in (("metrics", "blue"), ("formats", "pfl")):
        with pytest.raises(toledo.UnknownNameError, match="did you mean"):
            toledo.get(kind, name)
    with pytest.raises(toledo.UnknownNameError, match="did you mean 'metrics'"):
        toledo.names("metric")


def test_a_registered_metric_is_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(METRICS, "_entries", dict(METRICS._entries))
    monkeypatch.setattr(METRICS, "_owners", dict(METRICS._owners))

    @toledo.register.metric("shortness")
    def shortness(hypotheses: list[str], references: list[str], sources: list[str] | None) -> list[float]:
        return [-float(len(one)) for one in hypotheses]

    assert "shortness" in toledo.names("metrics")
    assert toledo.get("metrics", "shortness") is shortness
    assert toledo.choose(["abc", "ab", "a"], metric="shortness").text == "a"
    with pytest.raises(toledo.InputError, match="metric 'bleu' is registered by toledo"):
        toledo.register.utility("bleu")(shortness)
