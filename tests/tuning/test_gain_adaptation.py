"""Gain adaptation against a readable twin, and on a hill with very different slopes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.tuning.minimum_risk.trainer import FARTHEST, LEAST_VARIANCE, LONGEST, GainAdaptation, Gains, TrainingState


class Twin:
    """One weight; r is that of all."""

    def __init__(self, settings: GainAdaptation) -> None:
        self.settings, self.first, self.gain, self.mean, self.square = settings, 0.0, 0.0, 0.0, 0.0

    def move(self, slope: float, variance: float, steepness: float) -> float:
        variance = max(variance, LEAST_VARIANCE)
        if slope == 0.0:
            return 0.0
        if self.first == 0.0:
            self.first = self.gain = self.settings.step / (variance * steepness)
            self.square = slope**2
        memory = self.settings.memory
        self.square = memory * self.square + (1 - memory) * slope**2
        self.gain *= max(self.settings.least, 1 + self.settings.rate * slope * self.mean / self.square)
        self.gain = min(max(self.gain, self.first / FARTHEST), self.first * FARTHEST)
        self.mean = memory * self.mean + (1 - memory) * slope
        longest = LONGEST / variance**0.5
        return min(max(self.gain * slope, -longest), longest)


slopes = st.one_of(st.just(0.0), st.floats(-2, 2).filter(lambda x: abs(x) > 1e-6))


@given(
    st.lists(st.tuples(slopes, slopes, slopes), min_size=1, max_size=30),
    st.tuples(*[st.floats(0, 10)] * 3),
    st.floats(0, 2),
    st.floats(0, 0.99),
)
def test_the_twin_moves_alike(
    path: list[tuple[float, ...]], variances: tuple[float, ...], rate: float, memory: float
) -> None:
    settings = GainAdaptation(step=0.5, rate=rate, memory=memory)
    twins, gains, r = [Twin(settings) for _ in range(3)], Gains.none(3), 0.0
    for slope in path:
        move, gains = settings.move(gains, np.array(slope), np.array(variances))
        pairs = list(zip(slope, variances, strict=True))
        squares = [one**2 / max(variance, LEAST_VARIANCE) for one, variance in pairs if one]
        r = r or (np.mean(squares) ** 0.5 if squares else 0.0)
        expected = [twin.move(*pair, r) for twin, pair in zip(twins, pairs, strict=True)]
        np.testing.assert_allclose(move, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(gains.values, [twin.gain for twin in twins], rtol=1e-9)


@given(st.lists(st.tuples(slopes, slopes), min_size=1, max_size=30), st.floats(0, 2), st.floats(0, 0.99))
def test_gains_as_published(path: list[tuple[float, ...]], rate: float, memory: float) -> None:
    """η ← η · max(ρ, 1 + μ g m) and w ← w + η g, whatever the spread of features, without limits."""
    settings, gains = GainAdaptation(step=0.5, rate=rate, memory=memory, normalized=False), Gains.none(2)
    values, means = [0.5, 0.5], [0.0, 0.0]
    for slope in path:
        move, gains = settings.move(gains, np.array(slope), np.array([1e-3, 1e3]))
        for k, g in enumerate(slope):
            if g:
                values[k] *= max(0.5, 1 + rate * g * means[k])
                means[k] = memory * means[k] + (1 - memory) * g
        assert move == pytest.approx([value * g for value, g in zip(values, slope, strict=True)])


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_it_climbs_a_hill_with_very_different_slopes(noise: float) -> None:
    """Curvatures from 0.01 to 3; without adaptation the flat directions hardly move in so many steps."""
    curvature, top = np.array([0.01, 0.3, 3.0]), np.array([3.0, -2.0, 1.0])
    random = np.random.default_rng(3)
    ends = {}
    for rate in (0.0, 0.1):
        settings, gains, point = GainAdaptation(step=0.1, rate=rate), Gains.none(3), np.zeros(3)
        for _ in range(300):
            slope = curvature * (top - point) * (1.0 + noise * random.standard_normal(3))
            move, gains = settings.move(gains, slope, np.ones(3))
            point = point + move
        ends[rate] = np.abs(point - top)
    assert np.all(ends[0.1] < 0.1)
    assert ends[0.0][0] > 1.0


def test_noise_alone_makes_gains_smaller_or_leaves_them() -> None:
    random, settings, gains = np.random.default_rng(1), GainAdaptation(), Gains.none(200)
    for _ in range(300):
        gains = settings.move(gains, random.standard_normal(200), np.ones(200))[1]
    assert np.median(gains.values / gains.first) < 1.2


def test_gains_belong_to_names() -> None:
    state = TrainingState()
    assert state.gains_of(("a", "b")).first.tolist() == [0.0, 0.0]
    one = Gains(0.0, *(np.array([k + 0.1, k + 0.2]) for k in range(4)))
    state = state.after({}, ("a", "b"), one)
    two = Gains(0.0, *(np.array([k + 0.5, k + 0.6]) for k in range(4)))
    state = state.after({}, ("c", "a"), two)
    assert (state.step, state.names) == (2, ("a", "b", "c"))
    assert state.gains.values.tolist() == [1.6, 1.2, 1.5]
    assert state.gains_of(("b", "new", "c")).squares.tolist() == [3.2, 0.0, 3.5]
    later = state.after({}, ("b", "c"), one)
    assert later.gains.values.tolist() == [1.6, 1.1, 1.2]
    assert state.gains.values.tolist() == [1.6, 1.2, 1.5]  # inputs stay as they are


@pytest.mark.parametrize("wrong", [{"step": 0.0}, {"rate": -1.0}, {"least": 0.0}, {"memory": 1.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="gain adaptation"):
        GainAdaptation(**wrong)
