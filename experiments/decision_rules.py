"""What each decision rule makes of the same lattices: BLEU, and CPU time for a decision.

    python experiments/decision_rules.py ../shared/peers/moses-de-en ../shared/data/multi30k-de-en

The directories have `phrase-table.gz`, `lm.3.arpa.gz` and `weights.mert.ini` of a Moses system with val, test2016 and
test2017, and test2017coco. Scales, and the settings of lattice MBR, are those with the best BLEU on val. Times are for
deciding in one thread, without the search. Nothing is random.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from moses_set import TESTS, MosesSet, table_cells, table_titles
from stored import CORPUS_BLEU, Stored, add_options, markdown

from toledo.compiled.kernels import working_seconds
from toledo.consensus.decide import MaxTranslation, Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Rule
from toledo.consensus.scale import Candidate, choose_rule
from toledo.consensus.variational import Variational
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam

SCALES = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
POP_LIMIT, SIZE = 400, 200
ORDER_WEIGHTS = ((0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0), (0.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0))
PRECISIONS, RATIOS = (0.6, 0.7, 0.8, 0.9), (0.5, 0.6, 0.7, 0.8)


def main() -> None:
    """Translate, choose on val, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moses", type=Path)
    parser.add_argument("multi30k", type=Path)
    add_options(parser)
    options = parser.parse_args()
    stored = Stored.of(__file__, options)
    todo = [label for label in candidates() if not stored.done(rule=label)]
    if todo:
        bench = Bench(MosesSet(options.moses, options.multi30k), stored)
        for label in todo:
            bench.run(label)
    if not options.stale:
        print("\n".join(tables(stored).values()))


class Bench:
    """The lattices of all texts."""

    def __init__(self, data: MosesSet, stored: Stored) -> None:
        self.data, self.texts, self.stored, self.model = data, data.texts, stored, data.model()
        search = BeamSearch(self.model, Beam(POP_LIMIT))
        self.forests = {name: search.forests(text.source, threads=1) for name, text in self.texts.items()}

    def run(self, label: str) -> None:
        """Choose the scale on val, and decide on the tests."""
        some, weights = candidates()[label], self.model.weights
        best = choose_rule(some, self.forests["val"], weights, self.texts["val"].references, threads=1).best
        scores, seconds = {"val": best.score, "scale": best.scale, "settings": _settings(best.rule)}, 0.0
        statistics = {}
        for test in TESTS:
            began = working_seconds()
            found = decide(best.rule, self.forests[test], weights, best.scale, threads=1)
            seconds += working_seconds() - began
            words = [self.model.target_vocabulary.words(one.words.tolist()) for one in found]
            statistics[test] = self.texts[test].statistics(words)
            scores[test] = CORPUS_BLEU.score(statistics[test].sum(axis=0))
        scores["milliseconds"] = 1000 * seconds / sum(map(len, statistics.values()))
        self.stored.add(
            {"rule": label},
            data=self.data.files,
            options={"pop_limit": POP_LIMIT, "size": SIZE},
            seconds={"deciding": seconds},
            scores=scores,
            statistics=statistics,
        )


def tables(stored: Stored) -> dict[str, str]:
    """All rules against Viterbi."""
    groups = {label: runs for label in candidates() if (runs := stored.find(rule=label))}
    cells, rows = table_cells(groups, "viterbi"), []
    for label, (run,) in groups.items():
        scores = run["scores"]
        name, time = label + scores["settings"], f"{scores['milliseconds']:.1f}"
        rows.append([name, f"{scores['scale']:g}", *cells[label], time])
    return {"rules": markdown(["rule", "scale", *table_titles("viterbi"), "CPU ms"], rows)}


def candidates() -> dict[str, list[Candidate]]:
    """The rules of the table, and what is to choose for each."""
    size = SIZE
    rules: dict[str, list[Rule]] = {
        "viterbi": [Viterbi()],
        "max-translation": [MaxTranslation(size)],
        "mbr bleu": [MBR("bleu", size, size)],
        "mbr bleu+1": [MBR("bleu+1", size, size)],
        "mbr chrf": [MBR("chrf", size, size)],
        "mbr ter": [MBR("ter", size, size)],
        "consensus, list": [Consensus(size=size, from_list=True)],
        "consensus, lattice": [Consensus(size=size)],
        "lattice-mbr": [LatticeMBR(precision=p, ratio=r) for p in PRECISIONS for r in RATIOS],
        "variational": [Variational(order_weights=weights) for weights in ORDER_WEIGHTS],
    }
    return {
        label: [Candidate(rule, scale) for rule in some for scale in ((1.0,) if label == "viterbi" else SCALES)]
        for label, some in rules.items()
    }


def _settings(rule: Rule) -> str:
    match rule:
        case LatticeMBR():
            return f" (p {rule.precision:g}, r {rule.ratio:g})"
        case Variational():
            return f" (weights of orders {', '.join(f'{one:g}' for one in rule.order_weights)})"
    return ""


if __name__ == "__main__":
    main()
