"""PRO, MIRA, regression, MMI and simplex on n-best lists of several rounds: the BLEU they reach and CPU time.

    python benchmarks/list_tuners.py                      # lists of the built-in sample
    lists=../shared/peers/moses-de-en/mert-nbest
    python benchmarks/list_tuners.py --lists $lists/run?.best100.out.gz --start $lists/run1.dense \
        --references ../shared/peers/moses-de-en/val.en

Lists, start and references as for `mert.py`, beside this file. One thread; compiled before; statistics are prepared
before, as all tuners share them.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from mert import add_data_options, read_data

from toledo.tuning.tuners.mira import MIRA
from toledo.tuning.tuners.mmi import MMI
from toledo.tuning.tuners.pro import PRO, Regression
from toledo.tuning.tuners.simplex import Simplex

TUNERS = {
    "pro": PRO(),
    "pro, references 1 longer": PRO(extra_length=1.0),
    "mira": MIRA(),
    "mira, lists as forests": MIRA(on="forests", density=1e6),
    "regression": Regression(),
    "regression, references 0.5 longer": Regression(extra_length=0.5),
    "mmi": MMI(),
    "mmi, sentence oracles": MMI("sentence"),
    "simplex": Simplex(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    arguments = parser.parse_args()
    examples, start = read_data(arguments)
    print(f"{len(examples.forests)} segments, {examples.lists.forest.edges} distinct hypotheses, {len(start)} weights")
    for label, tuner in TUNERS.items():
        tuner.tune(examples, start, seed=0, threads=1)  # compiled now
        scores, begin = [], time.process_time()
        for seed in arguments.seeds:
            scores.append(tuner.tune(examples, start, seed=seed, threads=1).details["BLEU"])
        seconds = (time.process_time() - begin) / len(scores)
        print(f"{label:34} BLEU {np.mean(scores):.2f}, σ {np.std(scores):.2f}, {seconds:.2f} CPU s", flush=True)


if __name__ == "__main__":
    main()
