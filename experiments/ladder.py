"""The ladder: what each stage of `toledo build` is worth on tests, each against the stage before.

    python experiments/ladder.py $DATA/multi30k-de-en --work ladder
    python experiments/ladder.py $DATA/multi30k-de-en --work ladder --effort thorough --seeds 1 2 3

The folder has `train`, a set to tune on (`val` or `dev`) and tests, each for both languages, tokenized. `--lm-text`
adds English text to the language model. A model is built, and every stage that it kept translates the tests. "dev" is
the score by which a stage was kept, "minus" the difference from the row above. CPU seconds are those of the stage;
memory is the largest of the whole build.
"""

from __future__ import annotations

import argparse
import resource
from itertools import product
from pathlib import Path
from typing import Any

from rare_words import TESTS, TUNING, Pair
from runs import Text
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown, mean_text

import toledo

STAGES = ("train", "tune", "refine", "rerank", "rule")
EFFORTS, TEXTS = ("standard", "thorough"), ("pairs", "more text")


def main() -> None:
    """Build a model for each seed, and translate with each of its stages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--effort", choices=EFFORTS, default="standard")
    parser.add_argument("--skip", nargs="+", default=[], help="stages to leave out")
    parser.add_argument("--lm-text", type=Path, help="further text for the language model")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--threads", type=int, default=2)
    add_options(parser)
    arguments = parser.parse_args()
    stored = Stored.of(__file__, arguments)
    pair = Pair(arguments.folder, arguments.threads)
    for seed in arguments.seeds:
        text, skip = TEXTS[arguments.lm_text is not None], "+".join(sorted(arguments.skip))
        key = {"pair": pair.name, "effort": arguments.effort, "text": text, "skip": skip, "seed": seed}
        if not stored.done(**key, stage=STAGES[0]):
            _build(pair, key, arguments.lm_text, stored, arguments.work)
    if not arguments.stale:
        print("\n".join(tables(stored).values()))


def _build(pair: Pair, key: dict[str, Any], lm_text: Path | None, stored: Stored, work: Path) -> None:
    """Build a model, and score the stages that it kept."""
    output = stored.work(work) / "-".join(str(value) for value in key.values()).replace(" ", "-")
    (dev, *_), tests = pair.names(TUNING), pair.names(TESTS)
    built = toledo.build(
        *pair.sides("train"), dev=pair.sides(dev), test=pair.sides(tests[0]), lm_text=lm_text, tokenized=True,
        target_language="en", effort=key["effort"], skip=[name for name in key["skip"].split("+") if name],
        seed=key["seed"], threads=pair.threads, output=output, resume=output.exists(),
    )  # fmt: skip
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    files = [*([lm_text] if lm_text else []), *(file for name in ("train", dev, *tests) for file in pair.sides(name))]
    for stage in built.stages:
        if not stage.kept:
            continue
        model = toledo.load(output / "run" / stage.name)
        scores, statistics = {"dev": stage.score, "MB": memory}, {}
        for name in tests:
            source, target = pair.sides(name)
            found = model.translate(source, tokenized=True, threads=pair.threads)
            statistics[name] = Text.read(source, [target]).statistics([line.split() for line in found])
            scores[name] = CORPUS_BLEU.score(statistics[name].sum(axis=0))
        seconds = {"stage": stage.seconds}
        stored.add({**key, "stage": stage.name}, data=files, scores=scores, seconds=seconds, statistics=statistics)


def tables(stored: Stored) -> dict[str, str]:
    """A table for each pair, effort and text, and for stages that were left out."""
    names = ("pair", "effort", "text", "skip")
    given = list(product(("de-en", "fr-en", "ja-en"), EFFORTS, TEXTS, ("", "refine")))
    found = dict.fromkeys([*given, *(tuple(run["key"][name] for name in names) for run in stored.all())])
    titles = [", ".join([*key[:3], *([f"without {key[3]}"] if key[3] else [])]) for key in found]
    return {title: _table(stored, dict(zip(names, key, strict=True))) for title, key in zip(titles, found, strict=True)}


def _table(stored: Stored, key: dict[str, str]) -> str:
    rows, before, tests = [], list[Any](), list[str]()
    for stage in STAGES:
        runs = stored.find(**key, stage=stage)
        if not runs:
            continue
        tests = [name for name in TESTS if name in runs[0]["statistics"]]
        cells = differences({"before": before, stage: runs}, "before", tests)[stage] if before else "– | –"
        scores = [mean_text([run["scores"][name] for run in runs]) for name in ("dev", *tests)]
        cost = [
            mean_text([run["seconds"]["stage"] for run in runs], 0),
            mean_text([run["scores"]["MB"] for run in runs], 0),
        ]
        rows.append([stage, *scores, cells, *cost])
        before = runs
    return markdown(["", "dev", *tests, "minus row above", "p", "CPU s", "MB"], rows) if rows else ""


if __name__ == "__main__":
    main()
