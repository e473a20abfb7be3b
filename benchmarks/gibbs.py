"""The Gibbs sampler: CPU time of samples and MBR for each sentence, where it goes, and BLEU of all decision rules.

    python benchmarks/gibbs.py                      # on the built-in sample
    python benchmarks/gibbs.py MODEL SOURCE REFERENCE [--sentences 100] [--iterations 5000] [--scales 3]
    python benchmarks/gibbs.py MODEL SOURCE REFERENCE --only-bleu --scales 1 2 3 4 5 8

MODEL is a model directory; the texts are tokenized as for it. CPU seconds of one thread, loading and compilation not
counted. MBR has 1000 hypotheses and all samples as evidence. With --only-bleu there is one table, a row for each scale.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
from on_sample import make_model

from toledo.consensus.decide import MaxTranslation, Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Rule
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.search.beam.search import BeamSearch
from toledo.search.gibbs.diagnostics import diagnose
from toledo.search.gibbs.samples import Samples
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import OPERATORS, Gibbs

CHAINS = 2
ALL = 1_000_000_000
Words = list[list[str]]
Result = TypeVar("Result")
RULES: dict[str, Rule] = {
    "max-derivation": Viterbi(),
    "max-translation": MaxTranslation(),
    "mbr": MBR(reference_size=ALL, likeliest=True),
    "mbr, bleu+0.01": MBR("bleu+0.01", reference_size=ALL, likeliest=True),
    "consensus": Consensus(),
    "lattice-mbr": LatticeMBR(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", help="without one, the built-in sample's")
    parser.add_argument("source", type=Path, nargs="?")
    parser.add_argument("reference", type=Path, nargs="?")
    parser.add_argument("--sentences", type=int, default=30, help="the first so many")
    parser.add_argument("--iterations", type=int, default=5000, help="of each of two chains")
    parser.add_argument("--scales", type=float, nargs="*", default=[1.0, 3.0])
    parser.add_argument("--only-bleu", action="store_true", help="only what the rules choose")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            options.model, options.source, options.reference = make_model(Path(folder))
        model = PhraseModel.load(options.model)
        texts = [
            path.read_text("utf-8").splitlines()[: options.sentences] for path in (options.source, options.reference)
        ]
    source, references = ([line.split() for line in lines] for lines in texts)
    print(f"{len(source)} sentences, {sum(map(len, source)) / len(source):.1f} words each")
    print(f"{CHAINS} chains x {options.iterations} iterations; CPU seconds per sentence")
    beam = [list(one.words) for one in BeamSearch(model).translate(source, threads=1)]
    print(f"BLEU of beam search, viterbi: {bleu(beam, references):.2f}", flush=True)
    if options.only_bleu:
        compare_scales(model, source, references, options)
        return
    for scale in options.scales:
        measure(model, source, references, scale, options.iterations)


def compare_scales(model: PhraseModel, source: Words, references: Words, options: argparse.Namespace) -> None:
    print(f"\n| scale | {' | '.join(RULES)} |\n|---|{'---|' * len(RULES)}", flush=True)
    for scale in options.scales:
        settings = Gibbs(CHAINS, options.iterations, scale=scale)
        forests = GibbsSearch(model, settings).forests(source, threads=1)
        print(f"| {scale:g} | {' | '.join(qualities(model, references, forests, scale))} |", flush=True)


def timed(work: Callable[[], Result], sentences: int) -> tuple[float, Result]:
    start = time.process_time()
    result = work()
    return (time.process_time() - start) / sentences, result


def measure(model: PhraseModel, source: Words, references: Words, scale: float, iterations: int) -> None:
    def sampler(length: int, operators: tuple[str, ...] = OPERATORS) -> GibbsSearch:
        return GibbsSearch(model, Gibbs(CHAINS, length, scale=scale, operators=operators))

    sampler(10).forests(source[:2], threads=1)
    seconds, samples = timed(lambda: sampler(iterations).samples(source, threads=1), len(source))
    forest_seconds, forests = timed(lambda: [one.forest for one in samples], len(source))
    decide(MBR(reference_size=ALL, likeliest=True), forests[:1], model.weights, scale, threads=1)
    mbr = MBR("bleu+0.01", reference_size=ALL, likeliest=True)
    mbr_seconds, _ = timed(lambda: decide(mbr, forests, model.weights, scale, threads=1), len(source))
    print(f"\n## Scale {scale:g}\n\n| part | CPU s | µs per iteration |\n|---|---|---|")
    row("sampling", seconds, iterations)
    row("forests with features", forest_seconds)
    evidence = mean(map(texts_of, samples))
    row(f"MBR, up to 1000 x {evidence:.0f} texts", mbr_seconds)
    row("**all**", seconds + forest_seconds + mbr_seconds)
    short = max(iterations // 5, 1)
    part, _ = timed(lambda: sampler(short, ()).samples(source, threads=1), len(source))
    row("bookkeeping alone", part * iterations / short, iterations)
    for name in OPERATORS:
        others = tuple(other for other in OPERATORS if other != name)
        alone, _ = timed(lambda name=name: sampler(short, (name,)).samples(source, threads=1), len(source))
        rest, _ = timed(lambda others=others: sampler(short, others).samples(source, threads=1), len(source))
        row(f"{name} alone", alone * iterations / short, iterations)
        row(f"all without {name}", rest * iterations / short, iterations)
    describe(samples, iterations)
    print("\n| rule | BLEU |\n|---|---|")
    for name, quality in zip(RULES, qualities(model, references, forests, scale), strict=True):
        print(f"| {name} | {quality} |", flush=True)


def row(name: str, seconds: float, iterations: int | None = None) -> None:
    each = "" if iterations is None else f"{seconds / iterations / CHAINS * 1e6:.1f}"
    print(f"| {name} | {seconds:.4f} | {each} |", flush=True)


def describe(samples: list[Samples], iterations: int) -> None:
    notes = [diagnose(one) for one in samples]
    asked = mean(one.asked for one in samples) / iterations / CHAINS
    print(f"\nlanguage models asked {asked:.1f} times per iteration; all other phrases were in memory")
    distinct = mean(note.translations for note in notes)
    print(f"distinct derivations {mean(map(len, samples)):.0f}, translations {distinct:.0f}")
    print(f"entropy {mean(note.entropy for note in notes):.2f} nats; R-hat {mean(note.r_hat for note in notes):.3f}")
    print(f"effective samples {mean(note.effective_size for note in notes):.0f} of {notes[0].samples}\n")
    print("| operator | draws per iteration | moved |\n|---|---|---|")
    for name in OPERATORS:
        rates = [note.operators[name] for note in notes]
        draws = sum(rate.draws for rate in rates)
        moved = sum(rate.draws * rate.moved for rate in rates) / max(draws, 1)
        print(f"| {name} | {draws / len(notes) / iterations / CHAINS:.2f} | {moved:.3f} |")


def qualities(model: PhraseModel, references: Words, forests: Sequence[Forest], scale: float) -> Iterator[str]:
    """BLEU of what each rule chooses."""
    for rule in RULES.values():
        found = decide(rule, forests, model.weights, scale, threads=1)
        chosen = [model.target_vocabulary.words(one.words.tolist()) for one in found]
        yield f"{bleu(chosen, references):.2f}"


def bleu(found: Words, references: Words) -> float:
    metric = BLEU(smooth_method="none")
    return metric.score(metric.corpus_statistics(found, [[one] for one in references]).sum(axis=0))


def texts_of(samples: Samples) -> int:
    offsets, words = samples.forest.yields
    return len({words[begin:end].tobytes() for begin, end in pairwise(offsets.tolist())})


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


if __name__ == "__main__":
    main()
