"""A simple tuner for tests of the loop: random steps on n-best lists, and keep what is better."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from toledo.forest.assemble import join
from toledo.objectives.lists import make_lists
from toledo.progress import Progress
from toledo.tuning.examples import Examples
from toledo.tuning.tuner import Tuned
from toledo.weights import Weights


@dataclass
class RandomTuner:
    """Stops the program in round `interrupted`, as Ctrl-C would; `restless` adds noise, so that it never converges."""

    steps: int = 10
    interrupted: int | None = None
    wants: Literal["lists", "forests"] = "lists"
    restless: float = 0.0
    calls: int = 0

    name = "random"

    def __repr__(self) -> str:
        return f"RandomTuner({self.steps})"

    def tune(self, examples: Examples, start: Weights, *, seed: int, threads: int | None, progress: Progress) -> Tuned:
        self.calls += 1
        if self.calls == self.interrupted:
            raise KeyboardInterrupt
        random = np.random.default_rng(seed)
        forest = join(list(examples.forests))
        names = [*forest.feature_names, *(forest.sparse.names if forest.sparse else ())]
        best = start
        if self.wants == "forests":
            return Tuned(start.updated(names, random.normal(size=len(names))), float(forest.edges))
        lists = make_lists(forest, examples.references, examples.metric)
        value = score(lists, best)
        for _ in range(self.steps):
            old = np.array([best.get(name, 0.0) for name in names])
            other = best.updated(names, old + random.normal(scale=0.3, size=len(names)))
            if (new := score(lists, other)) > value:
                best, value = other, new
        noise = random.normal(scale=self.restless, size=len(names))
        best = best.updated(names, np.array([best.get(name, 0.0) for name in names]) + noise)
        return Tuned(best, value, {"seed": float(seed)})


def score(lists: object, weights: Weights) -> float:
    scores = lists.forest.scores(weights)
    pairs = zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
    best = [begin + int(np.argmax(scores[begin:end])) for begin, end in pairs if end > begin]
    return lists.metric.score(lists.statistics[best].sum(axis=0))
