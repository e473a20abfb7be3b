"""Small runs as commands would leave them on disk."""

import json
from pathlib import Path

from toledo.runs.history import History, Round

TRACE = [
    {"document": name, "step": step, "score": -10.0 + 0.01 * step, "bleu": 20.0 + 0.05 * step,
     "features": {"lm": -5.0 - step, "document.consistency": 0.5}}
    for name in ("first <1>", "second")
    for step in (0, 256, 512)
]  # fmt: skip
SIGNATURE = "nrefs:1|bs:10|seed:1|case:mixed"


def _system(score: float, ratio: float) -> dict[str, object]:
    bleu = {"name": "BLEU", "score": score, "interval": None, "details": {}, "signature": SIGNATURE}
    return {"scores": {"bleu": bleu}, "length_ratio": ratio}


COMPARISON = {
    "command": "compare", "version": "0.2.0", "signature": None,
    "result": {
        "systems": {"a": _system(20.5, 0.9), "<b>": _system(21.5, 1.0)},
        "tests": [{"metric": "bleu", "system": "<b>", "baseline": "a", "difference": 1.0,
                   "p": 0.005, "p_corrected": 0.01}],
    },
}  # fmt: skip
COMBINED = """
[report.scores]
A = { bleu = 20.0 }
B = { bleu = 21.0 }
combination = { bleu = 22.0 }

[[stages]]
shares = { A = 0.5, B = 0.5 }
weights = { lm = 0.0 }

[[stages]]
shares = { A = 0.4, B = 0.6 }
weights = { lm = 0.1 }
"""
SAMPLED = {"summary": {"segments": 2, "worst_r_hat": None, "move_rates": {"move": 0.25}}, "segments": []}
LISTS = [
    {"id": 0, "hypotheses": [{"text": "the house", "score": -1.0}, {"text": "a house", "score": -1.5}]},
    {"id": 1, "hypotheses": ["yes <b>"]},
]


def tuning(tuner: str, scores: list[float], seed: int = 1, configuration: dict[str, object] | None = None) -> History:
    """A tuning with one weight and a score for each round, the first that of the start."""
    rounds = [
        Round(n, {"lm": float(n)}, score, None, 0.5, 10, 5, 0, 0.1, 1.0, 2.0) for n, score in enumerate(scores) if n
    ]
    start = Round(0, {"lm": 0.0}, scores[0])
    return History(
        "tuning", tuner, "BLEU", True, seed, start, rounds=tuple(rounds), stopped="all is done",
        configuration=configuration or {},
    )  # fmt: skip


def refinement() -> History:
    """A baseline and one iteration."""
    details = {"expected": 0.5, "best_of_lists": 52.0}
    one = Round(1, {}, 41.0, objective=0.2, details=details, trained=("phrase.forward",))
    start = Round(0, {}, 40.0, stage=-1)
    return History("refinement", "refinement", "BLEU", True, 0, start, rounds=(one,), stopped="all rounds done")


def write_all(directory: Path) -> None:
    """A run of each kind."""
    for seed in (1, 2):
        folder = directory / "mert" / "run" / f"seed-{seed}"
        folder.mkdir(parents=True)
        tuning("mert", [40.0, 44.0 + seed], seed, {"text": "x", "seed": seed}).save(folder / "history.json")
    (directory / "mert" / "run" / "summary.json").write_text('{"runs": [], "spread": {}}\n')
    (directory / "cobleu").mkdir()
    tuning("cobleu", [40.0, 45.5, 45.0]).save(directory / "cobleu" / "history.json")
    (directory / "refined" / "run" / "refinement-1").mkdir(parents=True)
    refinement().save(directory / "refined" / "run" / "refinement-1" / "history.json")
    (directory / "trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in TRACE))
    (directory / "scores.json").write_text(json.dumps(COMPARISON, indent=2))
    (directory / "combined").mkdir()
    (directory / "combined" / "combination.toml").write_text(COMBINED)
    (directory / "samples.json").write_text(json.dumps(SAMPLED, indent=1))
    (directory / "lists.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LISTS))
    (directory / "best.nbest").write_text("0 ||| the house ||| lm= -1 ||| -1.0\n0 ||| a house ||| lm= -2 ||| -2.0\n")
