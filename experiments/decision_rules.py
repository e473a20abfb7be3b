"""What each decision rule makes of the same lattices: BLEU, chrF, TER, significance and time.

python experiments/decision_rules.py ../shared/peers/moses-de-en

The directory has `phrase-table.gz`, `lm.3.arpa.gz` and `weights.mert.ini` of a Moses system, and val, test2016 and
test2017 in `.de` and `.en`, tokenized. Scales, and the settings of lattice MBR, are those with the best BLEU on val.
In brackets are p values of sacreBLEU's paired bootstrap against Viterbi. Times are CPU milliseconds per sentence for
deciding in one thread, without the search.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import toledo
from toledo.consensus.decide import MaxTranslation, Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Decision, Rule
from toledo.consensus.scale import Candidate, Row, choose_rule
from toledo.forest.forest import Forest
from toledo.formats.moses_model import import_model
from toledo.metrics.evaluation import Comparison
from toledo.model import PhraseModel
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam

TESTS = ("test2016", "test2017")
SCALES = (0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
PRECISIONS, RATIOS = (0.6, 0.7, 0.8, 0.9), (0.5, 0.6, 0.7, 0.8)


def main() -> None:
    """Translate, choose on val, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--pop-limit", type=int, default=400)
    parser.add_argument("--size", type=int, default=200, help="texts in a list")
    parser.add_argument("--sentences", type=int, default=None, help="only the first ones, for a quick look")
    options = parser.parse_args()
    folder = options.directory
    model = import_model(folder / "phrase-table.gz", [folder / "lm.3.arpa.gz"], moses_ini=folder / "weights.mert.ini")
    search = BeamSearch(model, Beam(options.pop_limit))
    search.forests([["ein"]], threads=1)  # compiles
    lines = {name: _lines(folder / f"{name}.de", options.sentences) for name in ("val", *TESTS)}
    references = {name: _lines(folder / f"{name}.en", options.sentences) for name in ("val", *TESTS)}
    start = time.process_time()
    forests = {name: search.forests(lines[name], threads=1) for name in lines}
    each = (time.process_time() - start) / sum(map(len, lines.values()))
    print(f"Beam search with pop limit {options.pop_limit}: {1000 * each:.1f} CPU ms per sentence.")
    print(f"Lists have {options.size} texts.\n")
    chosen = {
        label: choose_rule(
            candidates, forests["val"], model.weights, [[words] for words in references["val"]], threads=1
        ).best
        for label, candidates in _candidates(options.size).items()
    }
    _print_table(chosen, model, forests, references)


def _candidates(size: int) -> dict[str, list[Candidate]]:
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
    }
    return {
        label: [Candidate(rule, scale) for rule in some for scale in ((1.0,) if label == "viterbi" else SCALES)]
        for label, some in rules.items()
    }


def _print_table(
    chosen: dict[str, Row], model: PhraseModel, forests: dict[str, list[Forest]], references: dict[str, list[list[str]]]
) -> None:
    scored: dict[str, Comparison] = {}
    times: dict[str, float] = {}
    for name in TESTS:
        outputs = {}
        for label, row in chosen.items():
            decide(row.rule, forests[name][:1], model.weights, row.scale, threads=1)  # compiles
            start = time.process_time()
            decisions = decide(row.rule, forests[name], model.weights, row.scale, threads=1)
            times[label] = (time.process_time() - start) / len(decisions)
            outputs[label] = _texts(decisions, forests[name])
        single = [[" ".join(words)] for words in references[name]]
        scored[name] = toledo.compare(outputs, single, tokenize="none", correction="none", test="sacrebleu")
    head = ["rule", "scale", "val BLEU"] + [f"{name} {metric}" for name in TESTS for metric in ("BLEU", "chrF", "TER")]
    print("| " + " | ".join([*head, "ms"]) + " |\n|" + "---|" * (len(head) + 1))
    for label, row in chosen.items():
        cells = [label + _settings(row.rule), f"{row.scale:g}", f"{row.score:.2f}"]
        for name in TESTS:
            cells += [_cell(scored[name], label, metric) for metric in ("bleu", "chrf", "ter")]
        print("| " + " | ".join([*cells, f"{1000 * times[label]:.1f}"]) + " |", flush=True)


def _cell(found: Comparison, label: str, metric: str) -> str:
    p_values = [test.p for test in found.tests if (test.system, test.metric) == (label, metric)]
    return f"{found[label][metric].score:.2f}" + "".join(f" ({p:.3f})" for p in p_values)


def _settings(rule: Rule) -> str:
    return f" (p {rule.precision:g}, r {rule.ratio:g})" if isinstance(rule, LatticeMBR) else ""


def _texts(decisions: Sequence[Decision], forests: Sequence[Forest]) -> list[str]:
    return [
        " ".join(forest.vocabulary.words(decision.words.tolist()))
        for decision, forest in zip(decisions, forests, strict=True)
    ]


def _lines(file: Path, count: int | None) -> list[list[str]]:
    return [line.split() for line in file.read_text(encoding="utf-8").splitlines()[:count]]


if __name__ == "__main__":
    main()
