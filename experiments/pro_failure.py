"""Why ranking of recorded states fails (Smith 2015): what weights say of states that they learn from and lead to.

    python experiments/pro_failure.py ../shared/data --work documents
    python experiments/pro_failure.py ../shared/data --work documents --documents 4 --steps 1048576
    python experiments/pro_failure.py ../shared/data --table

Searches climb from random translations of tuning documents, with Docent's default weights or for BLEU alone, and record
states at steps 0, 2^8, 2^9, …. Each condition learns weights from pairs of these states by logistic regression; with
these weights the same documents are translated in the same way. Two sets of states are then looked at: those that were
learned from, and those that the learned weights visit. For each, the *pairs ranked right* are the share of all pairs of
states of a document of which the weights score that with the higher BLEU higher. *United* adds to the states those that
the weights of the round before have visited, and learns again. *Random factors* (of standard log-normal distribution)
change each default weight: the mean of three draws.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from document_sets import DocumentSet
from numpy.typing import NDArray
from runs import Run, caption, size_shown
from stored import Stored, add_options, markdown

from toledo.compiled.kernels import working_seconds
from toledo.model import default_weights
from toledo.tuning.documents.task import DocumentTask
from toledo.tuning.documents.tune import RecordedStates, rank_states, search_states, state_pairs, states_of
from toledo.tuning.initial import docent_weights
from toledo.tuning.settings import DocumentPRO
from toledo.weights import Weights

RANDOM = "random factors"
DRAWS = 3
CONDITIONS: dict[str, DocumentPRO | None] = {
    "default": None,
    RANDOM: None,
    "BLEU decoding": DocumentPRO("consecutive", "bleu", positive=False),
    "consecutive": DocumentPRO("consecutive", positive=False),
    "consecutive, positive": DocumentPRO("consecutive"),
    "all pairs, positive": DocumentPRO("all"),
    "all pairs, positive, united": DocumentPRO("all", rounds=4),
}
Floats = NDArray[np.float64]


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("documents"))
    parser.add_argument("--pair", default="de-en")
    parser.add_argument("--documents", type=int, default=10)
    parser.add_argument("--steps", type=int, default=1 << 16, help="of each search for each document")
    parser.add_argument("--threads", type=int, default=1)
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    stored = Stored.of(__file__, options)
    size = f"{options.documents} documents, {options.steps} steps"
    keys = {name: {"pair": options.pair, "condition": name, "size": size} for name in CONDITIONS}
    missing = [name for name, key in keys.items() if not stored.done(**key)]
    if missing:
        place = stored.work(options.work)
        study = Study.of(
            DocumentSet.of(options.pair, options.data, place, options.threads, options.documents), options.steps
        )
        for name in missing:
            began = working_seconds()
            scores = study.look_at(name)
            logging.info("%s: %s", name, scores)
            stored.add(keys[name], data=study.one.files, scores=scores, seconds={"all": working_seconds() - began})
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


@dataclass(frozen=True)
class Study:
    """Documents, how they are searched, and the default weights with the states that they pass."""

    one: DocumentSet
    task: DocumentTask
    default: Weights
    steps: int
    states: Mapping[str, RecordedStates]

    @classmethod
    def of(cls, one: DocumentSet, steps: int) -> Study:
        """Search with the default weights, and for BLEU."""
        usual = default_weights(one.model.feature_names)
        default = replace(usual, values_by_name={**usual, **docent_weights(one.model.feature_names)})
        task = DocumentTask(one.model, one.documents("tune"), threads=one.threads)
        found = {}
        for decoding in ("model", "bleu"):
            results = search_states(DocumentPRO("all", decoding, steps=steps), task, default)  # type: ignore[arg-type]
            found[decoding] = states_of(results, task.names)
        return cls(one, task, default, steps, found)

    def look_at(self, name: str) -> Run:
        """Learn weights, search with them, and compare what they say of states."""
        how = CONDITIONS[name]
        if name == RANDOM:
            found = [self.look_at_random(number) for number in range(DRAWS)]
            means = {key: float(np.mean([one[key] for one in found])) for key in found[0] if key != "weights"}
            return {**means, "states": found[0]["states"], "weights": {}}
        if how is None:
            return self.described(self.default, self.states["model"], self.states["model"])
        learned_from, weights = self.states[how.decoding], self.default
        for number in range(how.rounds):
            if number:
                learned_from = united(learned_from, self.visited(weights))
            weights = rank_states(how, learned_from, self.task.names, self.default, number).weights
        return self.described(weights, learned_from, self.visited(weights))

    def look_at_random(self, seed: int) -> Run:
        """Look at default weights times random factors, each as likely below 1 as above."""
        free = [name for name in self.task.names if name not in self.default.frozen]
        factors = np.exp(np.random.default_rng(seed).standard_normal(len(free)))
        weights = self.default.updated(free, self.default.array(free) * factors)
        return self.described(weights, self.states["model"], self.visited(weights))

    def visited(self, weights: Weights) -> RecordedStates:
        """What a search with some weights passes, from the same random translations."""
        results = search_states(DocumentPRO(steps=self.steps), self.task, weights)
        return states_of(results, self.task.names)

    def described(self, weights: Weights, learned_from: RecordedStates, visited: RecordedStates) -> Run:
        """Figures of weights and the two sets of states."""
        values, default = weights.array(self.task.names), self.states["model"]
        own, usual = visited.offsets[1:] - 1, default.offsets[1:] - 1  # last states
        others = (visited.features[own] - default.features[usual]) @ values
        free = [one for one, name in enumerate(self.task.names) if name not in weights.frozen]
        return {
            "bleu": float(np.mean(visited.gains[own])),
            "learned": ranked_right(learned_from, values),
            "visited": ranked_right(visited, values),
            "default on learned": ranked_right(learned_from, self.default.array(self.task.names)),
            "first component": first_component(learned_from, free),
            "default ones below": float(np.mean(others > 0.0)),
            "default ones worse": float(np.mean(visited.gains[own] > default.gains[usual])),
            "states": int(learned_from.gains.size),
            "negative": int(np.sum(values[free] < 0.0)),
            "weights": {name: float(value) for name, value in zip(self.task.names, values, strict=True)},
        }


def united(first: RecordedStates, second: RecordedStates) -> RecordedStates:
    """The states of both, document by document."""
    features, gains, sizes = [], [], []
    for document in range(first.offsets.size - 1):
        for part in (first, second):
            own = slice(part.offsets[document], part.offsets[document + 1])
            features.append(part.features[own])
            gains.append(part.gains[own])
        sizes.append(gains[-1].size + gains[-2].size)
    return RecordedStates(np.cumsum([0, *sizes]), np.concatenate(features), np.concatenate(gains))


def ranked_right(states: RecordedStates, values: Floats) -> float:
    """The share of pairs of states of a document of which that with the higher BLEU has the higher score."""
    pairs, scores = state_pairs(states, "all"), states.features @ values
    return float(np.mean(scores[pairs.better] > scores[pairs.worse])) if pairs.better.size else 0.0


def first_component(states: RecordedStates, free: Sequence[int]) -> float:
    """The share of the variance of features, standardized in each document, along their first principal component."""
    shares = []
    for begin, end in zip(states.offsets[:-1].tolist(), states.offsets[1:].tolist(), strict=True):
        own = states.features[begin:end][:, list(free)]
        deviations = own.std(axis=0)
        own = (own - own.mean(axis=0))[:, deviations > 0.0] / deviations[deviations > 0.0]
        values = np.linalg.svd(own, compute_uv=False) ** 2.0
        shares.append(values[0] / values.sum())
    return float(np.mean(shares))


def tables(stored: Stored) -> dict[str, str]:
    """One for the size that most runs have, and one for any other."""
    everything = stored.all()
    sizes = sorted({run["key"]["size"] for run in everything}, key=lambda size: (int(size.split()[2]), size))
    usual = size_shown(everything)
    found = {"states": table([run for run in everything if run["key"]["size"] == usual]) + caption(usual)}
    longer = sizes[-1] if sizes and sizes[-1] != usual else ""
    found["longer"] = (
        table([run for run in everything if run["key"]["size"] == longer]) + caption(longer) if longer else ""
    )
    return found


def table(runs: Sequence[Run]) -> str:
    """A row for each condition."""
    known, rows = {run["key"]["condition"]: run["scores"] for run in runs}, []
    for name in CONDITIONS:
        if name in known:
            one = known[name]
            shares = [one[key] for key in ("learned", "visited", "default ones below", "default ones worse")]
            percents = [f"{100.0 * share:.0f}" for share in shares]
            rows.append([name, one["states"], f"{100.0 * one['first component']:.0f}", *percents, f"{one['bleu']:.1f}"])
    titles = ["weights", "states", "first component %", "right, learned %", "right, visited %"]
    return markdown([*titles, "own end scored higher %", "own end better %", "BLEU found"], rows)


if __name__ == "__main__":
    main()
