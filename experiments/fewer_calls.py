"""How many calls of an expensive metric each approximation of MBR needs, and what it loses.

    python experiments/fewer_calls.py $MOSES/out/test2016.100best.gz --seeds 3

The lists are n-best lists of Moses. Exact chrF stands in for the expensive metric, BLEU+1 for the cheap one. Texts
count as often as they occur in a list. Settings were chosen on val.100best.gz. A choice is the same if its text, or
its exact expected chrF, is that of exact MBR; what is lost is the difference in expected chrF.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from stored import Stored, add_options, markdown

import toledo
from toledo.compiled.kernels import working_seconds
from toledo.consensus.fewer_calls import BudgetMBR, EliminationMBR, ProxyMBR
from toledo.consensus.gains import make_gain
from toledo.consensus.registry import make_rule
from toledo.consensus.rule import Rule
from toledo.metrics.metric import Metric

CHEAP = "bleu+1:tokenize=none"
ROUNDING = 1e-6
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class List:
    """The distinct texts of a list, how often each occurs, and chrF of all pairs."""

    texts: list[str]
    counts: list[int]
    matrix: Rows

    @property
    def expected(self) -> Rows:
        """The expected chrF of each text."""
        return self.matrix @ (np.array(self.counts) / sum(self.counts))


class Remembered(Metric):
    """A metric that compares the texts of each list once, however many methods ask."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.known: dict[str, Rows] = {}

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name

    def pairwise_scores(self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None) -> Rows:
        """Return the score of each hypothesis with each reference."""
        key = "\n".join((*hypotheses, "", *references))
        if key not in self.known:
            self.known[key] = self.metric.pairwise_scores(hypotheses, references)
        return self.known[key]


def main() -> None:
    """Compare all methods on the lists of a file, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("--every", type=int, help="take each n-th list only, for a quick look")
    parser.add_argument("--seeds", type=int, default=1)
    add_options(parser)
    options = parser.parse_args()
    stored = Stored.of(__file__, options, quick=["every"])
    named, metric = methods(CHEAP), make_gain("chrf")
    plan = [(label, seed) for label in named for seed in range(1, options.seeds + 1)]
    todo = [(label, seed) for label, seed in plan if not stored.done(method=label, seed=seed)]
    lists = read(options.lists, options.every or 1) if todo else []
    for label, seed in todo:
        began = working_seconds()
        scores = measured(lists, named[label], metric, seed)
        scores |= {"lists": len(lists), "texts": float(np.mean([len(one.texts) for one in lists]))}
        key = {"method": label, "seed": seed}
        stored.add(key, data=[options.lists], scores=scores, seconds={"choosing": working_seconds() - began})
    if not options.stale:
        print("\n".join(tables(stored).values()))


def tables(stored: Stored) -> dict[str, str]:
    """Means over seeds."""
    rows = []
    for label in dict.fromkeys(run["key"]["method"] for run in stored.all()):
        scores = [run["scores"] for run in stored.find(method=label)]
        saved, same, lost = (float(np.mean([one[name] for one in scores])) for name in ("saved", "same", "lost"))
        rows.append([f"`{label}`", len(scores), f"{saved:.1f}×", f"{100 * same:.1f}", f"{lost:.3f}"])
    return {"methods": markdown(["rule", "runs", "calls saved", "same choice, %", "lost"], rows)}


def read(file: Path, every: int) -> list[List]:
    """Read lists, and compare all pairs of their texts."""
    texts = [[one.text for one in samples] for samples in toledo.read_lists(file)[::every]]
    return [compared(samples, make_gain("chrf")) for samples in texts]


def compared(samples: Sequence[str], metric: Metric) -> List:
    """Compare all pairs of the texts of a list."""
    counts = Counter(samples)
    return List(list(counts), list(counts.values()), metric.pairwise_scores(list(counts), list(counts)))


def methods(cheap: str) -> dict[str, Rule]:
    """Return all methods by the name with settings that users give."""
    named: dict[str, Rule] = {}
    proxy = Remembered(make_gain(cheap))
    for text in (
        "aggregate-mbr",
        "aggregate-mbr:top=5",
        "elimination-mbr:z=2",
        "elimination-mbr",
        "pruning-mbr:confidence=0.9",
        "pruning-mbr",
        "halving-mbr:share=0.125",
        "halving-mbr",
        "halving-mbr:share=0.5",
        "low-rank-mbr",
        "low-rank-mbr:share=0.5",
        "proxy-mbr:top=5",
        "proxy-mbr",
        "proxy-mbr:top=20",
        "budget-mbr:budget=400",
        "budget-mbr:budget=800",
    ):
        made = make_rule(text)
        if isinstance(made, ProxyMBR):
            made = replace(made, proxy=cheap)
        elif isinstance(made, EliminationMBR | BudgetMBR):
            made = replace(made, proxy=proxy)
        named[text] = made
    return named


def measured(lists: Sequence[List], rule: Rule, metric: Metric, seed: int) -> dict[str, float]:
    """Return how many calls a method saves, how often it makes the same choice, and what it loses."""
    samples = [
        [toledo.Hypothesis(text, count=n) for text, n in zip(one.texts, one.counts, strict=True)] for one in lists
    ]
    averaged = rule.name == "aggregate-mbr"  # needs the texts
    matrices = None if averaged else [one.matrix for one in lists]
    found = toledo.choose_many(samples, rule=rule, matrices=matrices, metric=metric if averaged else None, seed=seed)
    pairs = sum(one.matrix.size for one in lists)
    return {"saved": pairs / found.num_calls, **agreement(lists, found.indices)}


def agreement(lists: Sequence[List], chosen: Sequence[int | None]) -> dict[str, float]:
    """Return how often the chosen texts are as good as the best, and what they lose."""
    lost = [one.expected.max() - one.expected[index] for one, index in zip(lists, chosen, strict=True)]
    return {"same": float(np.mean(np.array(lost) < ROUNDING)), "lost": float(np.mean(lost))}


if __name__ == "__main__":
    main()
