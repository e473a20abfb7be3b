"""Diagnostics of chains on series whose answers are known, and on samples."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from toledo.reports.sampling import summary, write_report
from toledo.search.gibbs.diagnostics import diagnose, effective_size, split_r_hat
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import OPERATORS, Gibbs


def autoregressive(chains: int, length: int, correlation: float, seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(chains, length))
    found = np.empty_like(noise)
    found[:, 0] = noise[:, 0] / np.sqrt(1 - correlation**2)
    for t in range(1, length):
        found[:, t] = correlation * found[:, t - 1] + noise[:, t]
    return found


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, -0.3])
def test_the_effective_size_of_autoregressive_chains(correlation: float) -> None:
    trace = autoregressive(2, 40_000, correlation)
    expected = min(trace.size * (1 - correlation) / (1 + correlation), trace.size)
    assert effective_size(trace) == pytest.approx(expected, rel=0.1)


def test_r_hat_tells_chains_that_disagree() -> None:
    trace = autoregressive(2, 2_000, 0.5)
    assert split_r_hat(trace) == pytest.approx(1.0, abs=0.01)
    apart = trace + np.array([[0.0], [5.0]])
    assert split_r_hat(apart) > 1.5
    assert effective_size(apart) < 10
    drifting = trace + np.linspace(0, 5, 2_000)
    assert split_r_hat(drifting) > 1.3


def test_chains_without_change_or_length() -> None:
    assert split_r_hat(np.zeros((2, 10))) == 1.0
    assert split_r_hat(np.repeat([[1.0], [2.0]], 10, axis=1)) == np.inf
    assert effective_size(np.zeros((2, 10))) == 20
    assert np.isnan(split_r_hat(np.zeros((1, 2))))
    assert np.isnan(effective_size(np.zeros((1, 2))))


def test_samples_are_diagnosed() -> None:
    search = GibbsSearch(small_model(), Gibbs(iterations=400, burn_in=10))
    found = diagnose(search.samples([["das", "haus", "ist", "klein"]], threads=1)[0])
    assert found.samples == 800
    assert 1 < found.translations <= found.derivations
    assert 0 < found.translation_entropy <= found.entropy <= np.log(found.derivations)
    assert found.r_hat == pytest.approx(1.0, abs=0.1)
    assert 50 < found.effective_size <= 800
    assert found.best_score >= found.mean_score
    assert tuple(found.operators) == OPERATORS
    assert all(0 < rate.moved < 1 for name, rate in found.operators.items() if rate.draws)
    assert len(found.trace) == 2
    assert json.loads(json.dumps(found.to_json()))["operators"]["retrans"]["draws"] > 0
    (empty,) = search.samples([[]], threads=1)
    assert diagnose(empty).to_json()["entropy"] == 0.0


def test_chains_that_stay_where_they_are_are_stuck() -> None:
    search = GibbsSearch(small_model(), Gibbs(iterations=40, burn_in=10))
    found = diagnose(search.samples([["das", "haus", "ist", "klein"]], threads=1)[0])
    stuck = [replace(found, r_hat=value) for value in (np.inf, 1e9)]
    assert [one.to_json()["r_hat"] for one in stuck] == ["stuck", "stuck"]
    assert replace(found, r_hat=1.25).to_json()["r_hat"] == 1.25
    assert replace(found, r_hat=np.nan).to_json()["r_hat"] is None
    told = summary([replace(found, r_hat=1.0), replace(found, r_hat=1.1), *stuck])
    assert (told["suspicious"], told["stuck"], told["worst_r_hat"]) == (3, 2, "stuck")


def test_the_page_begins_with_chains_that_are_stuck(tmp_path: Path) -> None:
    search = GibbsSearch(small_model(), Gibbs(iterations=40, burn_in=10))
    found = diagnose(search.samples([["das", "haus"]], threads=1)[0])
    write_report(tmp_path / "page.html", [replace(found, r_hat=value) for value in (1.25, np.inf, np.nan)])
    page = (tmp_path / "page.html").read_text()
    assert page.index("<td>stuck</td>") < page.index("<td>1.250</td>")
