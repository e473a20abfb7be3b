"""Names that requests may use: rules and metrics that read no files, load no code and ask no other host."""

from __future__ import annotations

from collections.abc import Collection

from toledo.serve.problems import ServeError
from toledo.settings import parse_named

FOREST_RULES = (
    "viterbi", "map", "mbr", "consensus", "forest-consensus", "lattice-mbr", "variational", "max-translation",
    "max-derivation",
)  # fmt: skip
LIST_RULES = ("mbr", "consensus", "lattice-mbr", "max-translation", "viterbi", "map", "aggregate-mbr", "pruning-mbr")
METRICS = ("bleu", "chrf", "chrf++", "ter")
SETTINGS = {  # of metrics, with the values that they may have; None: any number
    "tokenize": ("none", "13a", "intl", "char", "zh"),
    "lowercase": ("true", "false"),
    "word_order": None,
    "char_order": None,
    "beta": None,
}
LARGEST_SETTING = 10


def check_rule(name: str, known: Collection[str], where: str) -> None:
    """Refuse a rule that is not served."""
    if name not in known:
        raise ServeError(422, "unknown-name", f"There is no rule {name[:80]!r}", f"Use {', '.join(known)}.", where)


def check_metric(name: str | None, where: str) -> None:
    """Refuse a metric that is not served, or settings of it that could reach a file."""
    if name is None:
        return
    head, _, settings = name.partition(":")
    if head.lower() not in METRICS:
        raise ServeError(422, "unknown-name", f"There is no metric {name[:80]!r}", f"Use {', '.join(METRICS)}.", where)
    for key, value in (parse_named(name)[1] if settings else {}).items():
        allowed = SETTINGS.get(key, ())
        fine = _small(value) if allowed is None else str(value).lower() in allowed
        if not fine:
            detail = f"Settings are {', '.join(SETTINGS)}."
            raise ServeError(422, "wrong-value", f"Metric {head!r} has no setting {key}={value!s:.40}", detail, where)


def _small(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_SETTING
