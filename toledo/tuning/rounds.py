"""What all loops say and ask about rounds: seeds, changes, a line for each, and whether the result is one at all."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import numpy as np

from toledo.errors import InputError
from toledo.forest.forest import Forest
from toledo.tuning.history import History
from toledo.weights import Weights

log = logging.getLogger(__name__)

LARGEST_SHOWN = 4
ALL_DONE = "all rounds are done"


def round_seed(seed: int, number: int) -> int:
    """The seed of a round: different rounds and different runs have nothing to do with each other."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def change(old: Weights, new: Weights) -> float:
    """The largest change of a weight, as a part of the largest new weight that may change."""
    free = [name for name in new if name not in new.frozen]
    largest = max((abs(new[name]) for name in free), default=0.0)
    moved = max((abs(new[name] - old.get(name, 0.0)) for name in free), default=0.0)
    return moved / largest if largest else moved


def all_done(history: History) -> str:
    """Why a loop ends after its last round; if that one is the best, more of them may be better."""
    done = len(history.rounds)
    better = done > 1 and history.best == done
    return f"{ALL_DONE} ({done})" + (", not converged: try more --rounds" if better else "")


def require_no_more(history: History, rounds: int) -> None:
    """A run that has ended stays as it is: what it found is gone, so it cannot take more rounds."""
    if history.stopped.startswith(ALL_DONE) and rounds > len(history.rounds):
        raise InputError(
            f"this run has ended, with seed {history.seed}: {history.stopped}",
            remedy=f"leave --resume out to tune anew with {rounds} rounds",
        )


def require_free_weights(forest: Forest, start: Weights) -> None:
    """Refuse to tune nothing."""
    if forest.sparse is None and start.frozen.issuperset(forest.feature_names):
        raise InputError("all weights are frozen: there is nothing to tune", remedy="freeze fewer of them (--frozen)")


def require_finite(objective: float, name: str, when: str) -> None:
    """Refuse to go on without a gradient to follow."""
    if not np.isfinite(objective):
        raise InputError(
            f"{when}: the objective of {name} became {objective}",
            remedy="start from other weights (--initial), or regularise (--l2)",
        )


def checked_result(history: History, segments: int, found: Sequence[Forest]) -> Weights:
    """The weights of the best round; a collapse is an error, not a success. `segments` should have a translation."""
    weights, what = history.weights(history.best), f"{history.tuner}, seed {history.seed}"
    empty = history.rounds[history.best - 1].empty if history.best else history.start_empty
    if 2 * empty > segments:
        raise InputError(
            f"{what}: the tuning collapsed: {empty} of {segments} translations are empty",
            remedy="freeze or bound the weight of word.penalty, or start from other weights (--initial default)",
        )
    if history.higher_is_better and history.best_score <= 0.0:
        raise InputError(
            f"{what}: the tuning collapsed: {history.metric} is 0 at the start and after each round",
            remedy="check that the references belong to these lines, or tune on more of them",
        )
    if not any(weights.get(name, 0.0) for name in _features(found, weights) if name not in weights.frozen):
        if not history.best:
            raise InputError(
                f"{what}: no round is better than the start, where all weights are 0",
                remedy="tune longer (--rounds, --steps), or start from other weights (--initial default)",
            )
        raise InputError(
            f"{what}: the tuning collapsed: all weights are 0",
            remedy="start from other weights (--initial default), or regularise less (--l2)",
        )
    if not history.best:
        log.warning("%s: no round is better than the start, whose weights are kept", what)
    return weights


def _features(forests: Sequence[Forest], weights: Weights) -> Iterator[str]:
    """The features that forests have: a model may have more, such as those of another search. All, without forests."""
    for forest in forests:
        yield from forest.feature_names
        yield from forest.sparse.names if forest.sparse else ()
    if not forests:
        yield from weights


def round_text(history: History) -> str:
    """One line about the last round."""
    last = history.rounds[-1]
    free = [(name, value) for name, value in last.weights.items() if name not in history.start.frozen]
    largest = sorted(free, key=lambda pair: (-abs(pair[1]), pair[0]))[:LARGEST_SHOWN]
    weights = ", ".join(f"{name} {value:.3g}" for name, value in largest)
    text = f"round {last.number}: objective {last.objective:.4f}, {history.metric} {last.before:.2f} → {last.after:.2f}"
    return f"{text}{held_out_text(last.held_out)}; {last.hypotheses:,} hypotheses ({last.new:,} new); {weights}"


def held_out_text(score: float | None) -> str:
    """The score on the held-out set, if there is one."""
    return "" if score is None else f", held out {score:.2f}"
