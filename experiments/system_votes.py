"""Choosing among systems of WMT22: with copies and garbage among them, and with some references.

    python experiments/system_votes.py ../shared/data/wmt22-syscomb

Each pair of languages has two halves, `tune` and `test`, with the raw texts of its systems. Numbers are BLEU/chrF above
the best system of the half by that metric: all systems; one of them four times (the worst of all choices of that one);
four equal files of word salad (the broken system of ja-en); equal votes for comparison. With references, votes are
learned on 50 and 200 segments of the other half, and the mean and the lowest of six draws are shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

import toledo

PAIRS, HALVES = ("de-en", "cs-en", "ru-en", "ja-en"), ("tune", "test")
DRAWS, SIZES, SEED = 6, (50, 200), 1
Scores = tuple[float, float]
Texts = dict[str, list[str]]


def main() -> None:
    """Print one table for each half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", nargs="+", default=PAIRS)
    options = parser.parse_args()
    for half in HALVES:
        columns = [measured(options.folder, pair, half) for pair in options.pairs]
        print(f"\n| {half} | {' | '.join(options.pairs)} |\n|{'---|' * (1 + len(columns))}")
        for row in columns[0]:
            print(f"| {row} | {' | '.join(column[row] for column in columns)} |", flush=True)


def measured(folder: Path, pair: str, half: str) -> dict[str, str]:
    """The rows of the table for one half of a pair."""
    systems, references = read(folder, pair, half)
    alone = [score(texts, references) for texts in systems.values()]
    best = max(one[0] for one in alone), max(one[1] for one in alone)
    chosen = score(toledo.choose_many(systems).texts, references)
    rows = {"shared votes": shown(chosen, best), "equal votes": ""}
    equal = score(toledo.choose_many(systems, votes="equal").texts, references)
    rows["equal votes"] = shown(equal, best)
    copied = {name: {f"copy {n}": systems[name] for n in range(3)} for name in systems}
    for votes, before in (("shared", chosen), ("equal", equal)):
        names = list(systems) if votes == "shared" else [list(systems)[int(np.argmin([one[0] for one in alone]))]]
        found = [
            score(toledo.choose_many({**systems, **copied[name]}, votes=votes).texts, references) for name in names
        ]
        worst = max(found, key=lambda one: max(abs(one[0] - before[0]), abs(one[1] - before[1])))
        label = "any system 4 times" if votes == "shared" else "weakest system 4 times"
        rows[f"{votes} votes, {label}: change"] = shown(worst, before)
        noise = {f"garbage {n}": garbage(folder, len(references)) for n in range(4)}
        found = [score(toledo.choose_many({**systems, **noise}, votes=votes).texts, references)]
        rows[f"{votes} votes, garbage 4 times: change"] = shown(found[0], before)
    for size in SIZES:
        draws = learned(folder, pair, half, systems, references, size)
        mean = tuple(np.mean(draws, axis=0) - best)
        lowest = float((np.array(draws) - best).min())
        rows[f"votes learned on {size}"] = f"{mean[0]:+.2f}/{mean[1]:+.2f} ({lowest:+.2f})"
    return rows


def learned(folder: Path, pair: str, half: str, systems: Texts, references: Sequence[str], size: int) -> list[Scores]:
    """Scores with votes learned on draws of segments of the other half."""
    others, known = read(folder, pair, HALVES[1 - HALVES.index(half)])
    found = []
    for draw in range(DRAWS):
        places = np.sort(np.random.default_rng([SEED, draw]).choice(len(known), size, replace=False)).tolist()
        some = {name: [texts[place] for place in places] for name, texts in others.items()}
        votes = toledo.tune_votes(some, [known[place] for place in places])
        found.append(score(toledo.choose_many(systems, votes=votes).texts, references))
    return found


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


def shown(scores: Scores, base: Scores) -> str:
    """Differences, with signs."""
    return "/".join(f"{one - other:+.2f}" for one, other in zip(scores, base, strict=True))


if __name__ == "__main__":
    main()
