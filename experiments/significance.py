"""How often tests find a difference that is not there, how often one that is there, and what intervals hold.

Subfolders, one for each language pair, have `tune` and `test`: `raw/ref.NAME.en`, `raw/sys.NAME.en`, `docids`. Test
sets are drawn from all segments with replacement. Without a folder the systems are spoiled copies of the example data.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from stored import Stored, add_options, markdown

import toledo
from toledo.compiled.kernels import working_seconds
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.metric import Metric
from toledo.metrics.score import ScoreInterval
from toledo.metrics.significance.paired import (
    Estimate,
    holm,
    jackknife_t,
    measure,
    randomization_test,
    studentized_bootstrap,
    t_estimate,
)
from toledo.metrics.significance.resampling import batches, counts, product
from toledo.metrics.significance.runs import difference_of_runs
from toledo.metrics.significance.sacrebleu import bootstrap_p, percentile_interval, resampled_scores
from toledo.metrics.ter import TER

Rows = NDArray[np.float64]
Ints = NDArray[np.int64]
METRICS: dict[str, Metric] = {"BLEU": BLEU(), "chrF": CHRF(), "TER": TER()}
RESAMPLES = 1000
OTHERS = 2000  # repetitions at most of tests that are here to be compared with
PAIRS = ("cs-en", "de-en", "ja-en", "ru-en")
HEAD = ("question", "situation", "metric", "size", "method", "repetitions", "percent", "percent_at_0.01")
UNEQUAL = 0.2  # whole documents cannot be mixed more finely
SIMILAR, WEAK_SPREAD = 0.1, 0.2  # of runs: share of segments from a similar system; σ of runs that is aimed at


@dataclass(frozen=True)
class Population:
    """Systems of a language pair, best first by BLEU, with the document of each segment."""

    name: str
    texts: dict[str, list[str]]
    references: list[str]
    documents: Ints

    @cached_property
    def statistics(self) -> dict[str, list[Rows]]:
        """The statistics of all systems by metric, in the order of BLEU."""
        groups = [[one] for one in self.references]
        found = {
            name: [metric.corpus_statistics(text, groups) for text in self.texts.values()]
            for name, metric in METRICS.items()
        }
        order = np.argsort([-BLEU().score(rows.sum(axis=0)) for rows in found["BLEU"]])
        return {name: [rows[place] for place in order] for name, rows in found.items()}


class Null(NamedTuple):
    """Two systems with the same score on the population; `swap` exchanges their outputs at random, too."""

    metric: Metric
    first: Rows
    second: Rows
    documents: Ints
    swap: bool = False

    @property
    def difference(self) -> float:
        """The true difference."""
        return self.metric.score(self.first.sum(axis=0)) - self.metric.score(self.second.sum(axis=0))

    def sample(self, generator: np.random.Generator, size: int) -> tuple[Rows, Rows]:
        """Draw a test set."""
        places = generator.integers(len(self.first), size=size)
        first, second = self.first[places], self.second[places]
        if self.swap:
            mask = generator.integers(2, size=size, dtype=bool)[:, None]
            first, second = np.where(mask, first, second), np.where(mask, second, first)
        return first, second

    def sample_documents(self, generator: np.random.Generator, size: int) -> tuple[list[Rows], list[Rows]]:
        """Draw whole documents: the segments of each."""
        bounds = np.flatnonzero(np.diff(self.documents, prepend=-1, append=-1))
        chosen = generator.integers(bounds.size - 1, size=size)
        return tuple([rows[bounds[one] : bounds[one + 1]] for one in chosen] for rows in (self.first, self.second))


def mixed_until(metric: Metric, rows: Rows, other: Rows, wanted: float, blocks: Ints, seed: int) -> Rows:
    """Replace blocks of a system by those of another, in random order, until the score is as near as can be."""
    order = np.random.default_rng(seed).permutation(int(blocks.max()) + 1)
    rank = np.argsort(order)[blocks]
    changes = np.zeros((order.size, rows.shape[1]))
    np.add.at(changes, rank, other - rows)
    scores = metric.scores(rows.sum(axis=0) + np.cumsum(changes, axis=0))
    last = int(np.argmin(np.abs(scores - wanted)))
    return np.where((rank <= last)[:, None], other, rows)


def equal_pairs(populations: Sequence[Population], name: str, *, by_document: bool) -> Iterator[Null]:
    """Yield a system that is mixed with a worse one until it is as good as a third one."""
    metric = METRICS[name]
    for one in populations:
        scored = sorted(
            ((metric.score(rows.sum(axis=0)), place) for place, rows in enumerate(one.statistics[name])),
            reverse=metric.higher_is_better,
        )
        scores, systems = [score for score, _ in scored], [one.statistics[name][place] for _, place in scored]
        blocks = one.documents if by_document else np.arange(len(one.documents))
        for better, middle in ((0, 2), (1, 3)):
            mixed = mixed_until(metric, systems[better], systems[-1], scores[middle], blocks, middle)
            null = Null(metric, mixed, systems[middle], one.documents)
            if abs(null.difference) > UNEQUAL:
                raise ValueError(f"{one.name}, {name}: the systems differ by {null.difference:.3f}")
            yield null


def exchangeable_pairs(populations: Sequence[Population], name: str) -> Iterator[Null]:
    """Yield two systems whose outputs are swapped at random."""
    for one in populations:
        systems = one.statistics[name]
        for first, second in ((0, 1), (1, 4)):
            yield Null(METRICS[name], systems[first], systems[second], one.documents, swap=True)


def one_run_tests(metric: Metric, first: Rows, second: Rows, seed: int) -> Iterator[tuple[str, float]]:
    """Yield p of each test for one run of each system; `seed` is the number of the repetition."""
    measured = [measure(metric, rows) for rows in (first, second)]
    bootstrap = studentized_bootstrap(metric, measured, [(0, 1)], resamples=RESAMPLES, seed=seed, threads=1)
    yield "studentized bootstrap", bootstrap.differences[0].p
    yield "randomization", randomization_test(metric, *measured, shuffles=RESAMPLES, seed=seed).p
    difference = measured[0].score - measured[1].score
    yield "jackknife t", jackknife_t(difference, measured[0].effects - measured[1].effects).p
    if seed >= OTHERS:
        return
    drawn = np.subtract(*resampled_scores(metric, [first, second], RESAMPLES, seed))
    yield "sacreBLEU's bootstrap", bootstrap_p(difference, drawn)
    below, above = (int(np.sum(sign * drawn <= 0)) for sign in (1, -1))
    yield "percentile bootstrap", min(1.0, 2 * (min(below, above) + 1) / (RESAMPLES + 1))
    yield "compare-mt's wins", half_sample_p(metric, first, second, seed)


def half_sample_p(metric: Metric, first: Rows, second: Rows, seed: int) -> float:
    """Return compare-mt's p: the share of resampled test sets, half as large, in which the better one does not win."""
    size, generator = len(first) // 2, np.random.default_rng(seed)
    both, sums = np.hstack([first, second]), []
    for count in batches(RESAMPLES, size):
        sums.append(product(counts(generator.integers(len(first), size=(count, size)), len(first)), both))
    scores = [metric.scores(np.ascontiguousarray(one)) for one in np.split(np.concatenate(sums), 2, axis=1)]
    wins = float(np.mean(scores[0] > scores[1]))
    losses = float(np.mean(scores[0] < scores[1]))
    return 1.0 - max(wins, losses)


class Tally:
    """Rejections by method."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def add(self, values: Iterator[tuple[str, float]]) -> None:
        """Count p of each method; for intervals, 0 if they hold the truth and 1 if they do not."""
        for method, p in values:
            self.found.setdefault(method, []).append(p)

    def rows(self, *what: str | int) -> Iterator[tuple[str, ...]]:
        """Yield a row of the result for each method."""
        for method, values in self.found.items():
            shares = [f"{100 * float(np.mean(np.array(values) < alpha)):.1f}" for alpha in (0.05, 0.01)]
            yield (*map(str, what), method, str(len(values)), *shares)


def generator_of(*key: str | int) -> np.random.Generator:
    """Return a generator for one repetition of one cell."""
    return np.random.default_rng([zlib.crc32(str(one).encode()) for one in key])


def level(populations: Sequence[Population], repetitions: int) -> Iterator[tuple[str, ...]]:
    """How often does a test at 0.05 reject, if systems do not differ?"""
    for name in METRICS:
        situations = {
            "swapped outputs": list(exchangeable_pairs(populations, name)),
            "equal scores": list(equal_pairs(populations, name, by_document=False)),
        }
        for situation, nulls in situations.items():
            for size in (100, 500, 1000):
                tally = Tally()
                for repetition in range(repetitions):
                    null, generator = (
                        nulls[repetition % len(nulls)],
                        generator_of("level", name, situation, size, repetition),
                    )
                    tally.add(one_run_tests(null.metric, *null.sample(generator, size), seed=repetition))
                yield from tally.rows("level", situation, name, size)


def documents(populations: Sequence[Population], repetitions: int) -> Iterator[tuple[str, ...]]:
    """The same for whole documents, by tests on documents and on segments."""
    nulls = list(equal_pairs(populations, "BLEU", by_document=True))
    for size in (10, 20, 50, 100):
        tally = Tally()
        for repetition in range(repetitions):
            null, generator = nulls[repetition % len(nulls)], generator_of("documents", size, repetition)
            drawn = null.sample_documents(generator, size)
            sums = [np.array([one.sum(axis=0) for one in some]) for some in drawn]
            tally.add(one_run_tests(null.metric, *sums, seed=repetition))
            segments = [measure(null.metric, np.concatenate(some)) for some in drawn]
            test = studentized_bootstrap(
                null.metric, segments, [(0, 1)], resamples=RESAMPLES, seed=repetition, threads=1
            )
            tally.add(iter([("studentized bootstrap of segments", test.differences[0].p)]))
        yield from tally.rows("documents", "equal scores", "BLEU", size)


class RunMaker:
    """Makes runs: each segment is the system's own, or a similar system's, or a weak one's in a share that differs."""

    def __init__(self, own: Rows, similar: Rows, weak: Rows, spread: float) -> None:
        metric = METRICS["BLEU"]
        self.choices = np.stack([own, similar, weak])
        loss = metric.score(self._expected(0.0)) - metric.score(self._expected(0.1))
        self.most = 2 * np.sqrt(3) * spread * 0.1 / loss  # the share of the weak system is uniform from 0 to this

    def _expected(self, share: float) -> Rows:
        weights = [1 - SIMILAR - share, SIMILAR, share]
        return np.asarray(np.tensordot(weights, self.choices, 1).sum(axis=0), np.float64)

    @property
    def score(self) -> float:
        """The score that runs have on average."""
        return METRICS["BLEU"].score(self._expected(self.most / 2))

    def run(self, generator: np.random.Generator, places: Ints) -> Rows:
        """Make a run and take some segments of it."""
        share = generator.random() * self.most
        chosen = np.searchsorted(
            [1 - SIMILAR - share, 1 - share], generator.random(self.choices.shape[1]), side="right"
        )
        found: Rows = self.choices[chosen[places], places]
        return found


def equal_run_makers(populations: Sequence[Population]) -> Iterator[tuple[RunMaker, RunMaker, int]]:
    """Yield two unlike systems whose runs are equally good on average, and the number of segments."""
    metric = METRICS["BLEU"]
    for one in populations:
        systems, segments = one.statistics["BLEU"], np.arange(len(one.documents))
        weak, second = systems[-1], RunMaker(systems[2], systems[3], systems[-1], WEAK_SPREAD)
        low, high = (metric.score(systems[place].sum(axis=0)) for place in (-1, 0))
        for _ in range(30):  # the score of the better system for which its runs are as good
            middle = (low + high) / 2
            own = mixed_until(metric, systems[0], weak, middle, segments, 7)
            first = RunMaker(own, systems[1], weak, WEAK_SPREAD)
            low, high = (middle, high) if first.score < second.score else (low, middle)
        yield first, second, len(segments)


def run_tests(first: Sequence[Rows], second: Sequence[Rows], seed: int) -> Iterator[tuple[str, float]]:
    """Yield p of each test for several runs of each system; `seed` is the number of the repetition."""
    metric = METRICS["BLEU"]
    measured = [[measure(metric, rows) for rows in runs] for runs in (first, second)]
    yield "t test of segments and runs", difference_of_runs(*measured)[0].p
    if seed >= OTHERS:
        return
    one = studentized_bootstrap(
        metric, [measured[0][0], measured[1][0]], [(0, 1)], resamples=RESAMPLES, seed=seed, threads=1
    )
    yield "one run of each, studentized bootstrap", one.differences[0].p
    means = [np.mean(runs, axis=0) for runs in (first, second)]
    drawn = np.subtract(*resampled_scores(metric, means, RESAMPLES, seed))
    difference = float(np.subtract(*(metric.score(rows.sum(axis=0)) for rows in means)))
    yield "averaged runs, sacreBLEU's bootstrap", bootstrap_p(difference, drawn)
    # multeval also permutes the runs of a segment, by inverse permutations for both sides; this is left out
    stacked = [measure(metric, np.concatenate(runs)) for runs in (first, second)]
    yield "multeval's shuffling", randomization_test(metric, *stacked, shuffles=RESAMPLES, seed=seed).p
    yield "Welch's t of scores of runs", welch([[run.score for run in runs] for runs in measured]).p


def welch(scores: Sequence[Sequence[float]]) -> Estimate:
    """Compare the scores of runs on one test set."""
    shares = [float(np.var(one, ddof=1)) / len(one) for one in scores]
    degrees = sum(shares) ** 2 / sum(share**2 / (len(one) - 1) for share, one in zip(shares, scores, strict=True))
    return t_estimate(float(np.mean(scores[0]) - np.mean(scores[1])), sum(shares) ** 0.5, degrees, 0.95)


def runs(populations: Sequence[Population], repetitions: int) -> Iterator[tuple[str, ...]]:
    """How often is a difference found between runs of one system, and between two that are equal on average?"""
    makers = list(equal_run_makers(populations))
    for situation in ("runs of one system", "two equal systems"):
        for number in (3, 5, 10):
            tally = Tally()
            for repetition in range(repetitions):
                first, second, size = makers[repetition % len(makers)]
                generator = generator_of("runs", situation, number, repetition)
                places = generator.integers(size, size=500)
                other = second if situation == "two equal systems" else first
                drawn = [[maker.run(generator, places) for _ in range(number)] for maker in (first, other)]
                tally.add(run_tests(*drawn, seed=repetition))
            yield from tally.rows("runs", situation, "BLEU", number)


def power(populations: Sequence[Population], repetitions: int) -> Iterator[tuple[str, ...]]:
    """How often is a true difference found with 1,000 segments?"""
    metric = METRICS["BLEU"]
    for situation, wanted in (("near", 0.3), ("near", 0.5), ("far", 0.5), ("far", 1.0)):
        tally, pairs = Tally(), []
        for one in populations:
            systems, segments = one.statistics["BLEU"], np.arange(len(one.documents))
            low = metric.score(systems[2].sum(axis=0))
            start, towards = (systems[2], systems[0]) if situation == "near" else (systems[0], systems[-1])
            if metric.score(systems[0].sum(axis=0)) > low + wanted:
                pairs.append(
                    Null(
                        metric,
                        mixed_until(metric, start, towards, low + wanted, segments, 3),
                        systems[2],
                        one.documents,
                    )
                )
        for repetition in range(repetitions):
            pair, generator = pairs[repetition % len(pairs)], generator_of("power", situation, wanted, repetition)
            tally.add(one_run_tests(metric, *pair.sample(generator, 1000), seed=repetition))
        yield from tally.rows("power", f"{situation}, {wanted} BLEU", "BLEU", 1000)


def coverage(populations: Sequence[Population], repetitions: int) -> Iterator[tuple[str, ...]]:
    """How often does a 95 % interval hold the true score, or the true difference?"""
    for name, metric in METRICS.items():
        pairs = [Null(metric, one.statistics[name][0], one.statistics[name][3], one.documents) for one in populations]
        for size in (100, 500, 1000):
            tallies = {"score": Tally(), "difference": Tally()}
            for repetition in range(repetitions):
                pair, generator = pairs[repetition % len(pairs)], generator_of("coverage", name, size, repetition)
                truth = {"score": metric.score(pair.first.sum(axis=0)), "difference": pair.difference}
                for what, found in intervals(metric, pair.sample(generator, size), repetition).items():
                    tallies[what].add((method, float(not low <= truth[what] <= high)) for method, low, high in found)
            for what, tally in tallies.items():
                yield from tally.rows("coverage", what, name, size)


def intervals(metric: Metric, rows: tuple[Rows, Rows], seed: int) -> dict[str, list[tuple[str, float, float]]]:
    """Return the intervals of the first score and of the difference by each method."""
    measured = [measure(metric, one) for one in rows]
    bootstrap = studentized_bootstrap(metric, measured, [(0, 1)], resamples=RESAMPLES, seed=seed, threads=1)
    difference = measured[0].score - measured[1].score
    found: dict[str, dict[str, ScoreInterval | None]] = {
        "score": {
            "studentized bootstrap": bootstrap.scores[0].interval,
            "jackknife t": jackknife_t(measured[0].score, measured[0].effects).interval,
        },
        "difference": {
            "studentized bootstrap": bootstrap.differences[0].interval,
            "jackknife t": jackknife_t(difference, measured[0].effects - measured[1].effects).interval,
        },
    }
    if isinstance(metric, BLEU):
        drawn = resampled_scores(metric, list(rows), RESAMPLES, seed)
        found["score"]["percentiles"] = percentile_interval(drawn[0], 0.95)
        found["difference"]["percentiles"] = percentile_interval(drawn[0] - drawn[1], 0.95)
    return {
        what: [(method, box.low, box.high) for method, box in boxes.items() if box is not None]
        for what, boxes in found.items()
    }


def families(populations: Sequence[Population], repetitions: int) -> Iterator[tuple[str, ...]]:
    """How often is one of five systems found to differ from a baseline, if none does?"""
    nulls = [list(equal_pairs([one], "BLEU", by_document=False)) for one in populations]
    tally = Tally()
    for repetition in range(repetitions):
        generator = generator_of("families", repetition)
        null = nulls[repetition % len(nulls)][0]
        tested: dict[str, list[float]] = {}
        places = generator.integers(len(null.first), size=200)
        for _ in range(5):
            mask = generator.integers(2, size=200, dtype=bool)[:, None]
            one = np.where(mask, null.first[places], null.second[places])
            for method, p in one_run_tests(null.metric, one, null.second[places], repetition):
                tested.setdefault(method, []).append(p)
        tally.add((f"{method}, no correction", min(values)) for method, values in tested.items())
        tally.add((f"{method}, Holm", min(holm(values))) for method, values in tested.items())
    yield from tally.rows("families", "five systems against one", "BLEU", 200)


QUESTIONS: dict[str, Callable[[Sequence[Population], int], Iterator[tuple[str, ...]]]] = {
    "level": level, "documents": documents, "runs": runs, "power": power, "coverage": coverage, "families": families,
}  # fmt: skip


def read_populations(folder: Path) -> list[Population]:
    """Read both halves of each language pair."""
    found = []
    for pair in PAIRS:
        halves = [folder / pair / half for half in ("tune", "test")]
        names = sorted(file.name for file in (halves[0] / "raw").glob("sys.*.en"))
        reference = min(file.name for file in (halves[0] / "raw").glob("ref.*.en"))
        texts = {name: _lines(*(half / "raw" / name for half in halves)) for name in (reference, *names)}
        ids = _lines(*(half / "docids" for half in halves))
        found.append(Population(pair, {name: texts[name] for name in names}, texts[reference], _numbers(ids)))
    return found


def sample_populations(segments: int = 2000) -> list[Population]:
    """Spoil the second reference of the example data in several ways: a system drops, doubles or changes words."""
    test = toledo.example_data(train=1, tune=1, test=segments).test
    reference, other = test.references
    words = sorted({word for text in other for word in text.split()})
    texts = {}
    for number, rate in enumerate((0.02, 0.03, 0.04, 0.05, 0.06, 0.15)):
        generator = np.random.default_rng(number)
        texts[f"system {number}"] = [
            " ".join(str(generator.choice(words)) if generator.random() < rate else word for word in text.split())
            for text in other
        ]
    return [Population("example data", texts, list(reference), np.arange(len(reference)) // 10)]


def _lines(*files: Path) -> list[str]:
    return [line for file in files for line in file.read_text(encoding="utf-8").split("\n")[:-1]]


def _numbers(ids: Sequence[str]) -> Ints:
    known = {one: number for number, one in enumerate(dict.fromkeys(ids))}
    return np.array([known[one] for one in ids], np.int64)


def main() -> None:
    """Answer questions, store what is found, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="outputs of WMT22; the example data by default")
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--only", choices=QUESTIONS, action="append", help="answer this question; may be repeated")
    add_options(parser)
    options = parser.parse_args()
    stored = Stored.of(__file__, options)
    data = "example data" if options.data is None else "WMT22"
    todo = [
        one for one in options.only or QUESTIONS
        if not stored.done(question=one, data=data, repetitions=options.repetitions)
    ]  # fmt: skip
    populations = [] if not todo else sample_populations() if options.data is None else read_populations(options.data)
    files = [] if options.data is None else sorted(options.data.glob("*-en/*/raw/*.en"))
    for question in todo:
        began = working_seconds()
        rows = [dict(zip(HEAD, row, strict=True)) for row in QUESTIONS[question](populations, options.repetitions)]
        key = {"question": question, "data": data, "repetitions": options.repetitions}
        stored.add(key, data=files, scores={"rows": rows}, seconds={"testing": working_seconds() - began})
    if not options.stale:
        print("\n".join(tables(stored).values()))


def tables(stored: Stored) -> dict[str, str]:
    """Rejections at 0.05 in per cent; of coverage, intervals that hold the truth."""
    rows = [row for run in stored.find(data="WMT22") for row in run["scores"]["rows"]]
    found = {f"level {name}": _table(rows, "level", "segments", metric=name) for name in METRICS}
    found["documents"] = _table(rows, "documents", "documents")
    found["runs"] = _table(rows, "runs", "runs")
    found["power"] = _table(rows, "power", "segments")
    found["coverage"] = _table(rows, "coverage", "segments", by_metric=True)
    found["families"] = _table(rows, "families", "segments")
    return found


def _table(
    rows: Sequence[dict[str, str]], question: str, unit: str, *, metric: str = "", by_metric: bool = False
) -> str:
    """A row for each method, a column for each situation and size."""
    own = [row for row in rows if row["question"] == question and row["metric"] in (metric or row["metric"])]
    columns = list(dict.fromkeys((row["situation"], row["size"]) for row in own))
    methods = list(dict.fromkeys((row["metric"] if by_metric else "", row["method"]) for row in own))
    cells = {
        (row["metric"] if by_metric else "", row["method"], row["situation"], row["size"]): row["percent"]
        for row in own
    }
    titles = ["method", *(f"{situation}, {int(size):,} {unit}" for situation, size in columns)]
    return markdown(
        titles,
        [
            [", ".join(filter(None, method)), *(cells.get((*method, *column), "") for column in columns)]
            for method in methods
        ],
    )


if __name__ == "__main__":
    main()
