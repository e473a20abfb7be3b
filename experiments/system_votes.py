"""Choosing among systems of WMT22: with copies and garbage among them, and with some references.

    python experiments/system_votes.py ../shared/data/wmt22-syscomb

Each pair of languages has two halves, `tune` and `test`, with the raw texts of its systems. Numbers are BLEU of the
choice, and differences of BLEU/chrF: to the best system of the half by BLEU, known only with hindsight; with one of the
systems four times (the worst of all choices of that one; equal votes: the weakest system); with four equal files of
word salad (the broken system of ja-en). With references, votes are learned on 50 and 200 segments of the other half, in
six draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from differences import compare, signed
from stored import Run, Stored, add_options, markdown, unpack

import toledo
from toledo.compiled.kernels import working_seconds
from toledo.metrics.significance.paired import holm

PAIRS, HALVES = ("de-en", "cs-en", "ru-en", "ja-en"), ("tune", "test")
DRAWS, SIZES, SEED = 6, (50, 200), 1
VOTES = ("shared", "equal")
GARBAGE = [f"garbage {n}" for n in range(4)]
Scores = tuple[float, float]
Texts = dict[str, list[str]]


def main() -> None:
    """Print the tables of both halves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", nargs="+", default=PAIRS)
    add_options(parser)
    options = parser.parse_args()
    stored = Stored.of(__file__, options)
    for pair in options.pairs:
        for half in HALVES:
            if not stored.done(pair=pair, half=half):
                run(stored, options.folder, pair, half)
    if not options.stale:
        print("\n".join(tables(stored).values()))


def run(stored: Stored, folder: Path, pair: str, half: str) -> None:
    """Store what choosing gives on one half of a pair, with the statistics of segments of the main choices."""
    began, (systems, references) = working_seconds(), read(folder, pair, half)
    alone = {name: score(texts, references) for name, texts in systems.items()}
    best = max(alone, key=lambda name: alone[name][0])
    texts = {votes: list(toledo.choose_many(systems, votes=votes).texts) for votes in VOTES}
    scores: dict[str, object] = {"best system": best, "best BLEU": alone[best][0], "systems": len(systems)}
    scores["best chrF"] = max(one[1] for one in alone.values())
    for votes in VOTES:
        chosen = score(texts[votes], references)
        scores |= {
            votes: chosen,
            **changes(systems, references, votes, chosen, alone, garbage(folder, len(references))),
        }
    learned_texts: dict[str, list[str]] = {}
    for size in SIZES:
        draws = [list(one) for one in learned(folder, pair, half, systems, size)]
        scores[f"learned on {size}"] = [score(one, references) for one in draws]
        learned_texts |= {f"learned on {size}, draw {number + 1}": one for number, one in enumerate(draws)}
    raw = folder / pair / half / "raw"
    stored.add(
        {"pair": pair, "half": half},
        data=[*raw.glob("sys.*.en"), *raw.glob("ref.*.en")],
        options={"draws": DRAWS, "sizes": SIZES, "seed": SEED},
        seconds={"all": working_seconds() - began},
        scores=scores,
        statistics={
            name: toledo.BLEU().corpus_statistics(some, [[one] for one in references])
            for name, some in {"best system": systems[best], **texts, **learned_texts}.items()
        },
    )


def changes(
    systems: Texts, references: Sequence[str], votes: str, before: Scores, alone: dict[str, Scores], salad: list[str]
) -> dict[str, Scores]:
    """What changes if a system is there four times (with shared votes, the worst of all), or garbage is."""
    names = list(systems) if votes == "shared" else [min(alone, key=lambda name: alone[name][0])]
    found = []
    for copies in [*({f"copy {n}": systems[name] for n in range(3)} for name in names), dict.fromkeys(GARBAGE, salad)]:
        after = score(toledo.choose_many({**systems, **copies}, votes=votes).texts, references)
        found.append((after[0] - before[0], after[1] - before[1]))
    worst = max(found[:-1], key=lambda one: max(map(abs, one)))
    return {f"{votes}, a system 4 times": worst, f"{votes}, garbage 4 times": found[-1]}


def tables(stored: Stored) -> dict[str, str]:
    """BLEU of choices against the best system of each half, and what copies and garbage change."""
    choices, robust, votes = [], [], []
    changed = [f"{one}, {what} 4 times" for one in VOTES for what in ("a system", "garbage")]
    sizes = [f"learned on {size}" for size in SIZES]
    for run in sorted(stored.all(), key=lambda run: (run["key"]["half"] == "test", PAIRS.index(run["key"]["pair"]))):
        scores, name = run["scores"], f"{run['key']['pair']}, {run['key']['half']}"
        found, best = table_differences(run), f"{scores['best system']} {scores['best BLEU']:.2f}"
        choices.append([name, scores["systems"], best, *(f"{scores[one][0]:.2f} | {found[one]}" for one in VOTES)])
        robust.append([name, *("/".join(map(signed, scores[one])) for one in changed)])
        gains = [[one[0] - scores["shared"][0] for one in scores[size]] for size in sizes]
        votes.append([name, *(f"{signed(float(np.mean(own)))} ({signed(min(own))})" for own in gains)])
    titles = ["", "systems", "best system", *(cell for one in VOTES for cell in (f"{one} votes", "minus best", "p"))]
    return {
        "choices": markdown(titles, choices),
        "robust": markdown(["", *changed], robust),
        "learned": markdown(["", *(f"{size} minus shared: mean (lowest)" for size in sizes)], votes),
    }


def table_differences(run: Run) -> dict[str, str]:
    """Cells of differences to the best system."""
    rows = {name: unpack(run["statistics"][name]) for name in ("best system", *VOTES)}
    found = [compare(toledo.BLEU(), [rows[name]], [rows["best system"]]) for name in VOTES]
    return {name: one.text(p) for name, one, p in zip(VOTES, found, holm([one.p for one in found]), strict=True)}


def learned(folder: Path, pair: str, half: str, systems: Texts, size: int) -> Iterator[Sequence[str]]:
    """Choices with votes learned on draws of segments of the other half."""
    others, known = read(folder, pair, HALVES[1 - HALVES.index(half)])
    for draw in range(DRAWS):
        places = np.sort(np.random.default_rng([SEED, draw]).choice(len(known), size, replace=False)).tolist()
        some = {name: [texts[place] for place in places] for name, texts in others.items()}
        votes = toledo.tune_votes(some, [known[place] for place in places])
        yield toledo.choose_many(systems, votes=votes).texts


@cache
def read(folder: Path, pair: str, half: str) -> tuple[Texts, list[str]]:
    """The texts of all systems, and the first reference."""
    raw = folder / pair / half / "raw"
    systems = {path.name.split(".")[1]: lines(path) for path in sorted(raw.glob("sys.*.en"))}
    return systems, lines(sorted(raw.glob("ref.*.en"))[0])


def garbage(folder: Path, size: int) -> list[str]:
    """Word salad of a broken system, as many lines as needed."""
    texts = lines(folder / "ja-en" / "tune" / "raw" / "broken.AIST.en")
    return [texts[place % len(texts)] for place in range(size)]


def lines(path: Path) -> list[str]:
    """The lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def score(texts: Sequence[str], references: Sequence[str]) -> Scores:
    """BLEU and chrF."""
    return tuple(  # type: ignore[return-value]
        metric.corpus_score(texts, [references]).score for metric in (toledo.BLEU(), toledo.CHRF())
    )


if __name__ == "__main__":
    main()
