"""Lists of hypotheses to forests, decisions of rules back to the texts of the lists: what `toledo consensus` runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from toledo.cli.raw_text import raw_word
from toledo.consensus.mbr import MBR, rank_all
from toledo.consensus.rule import Decision, MaxTranslation, Rule, Viterbi, decide
from toledo.errors import InputError
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.formats.hypotheses import Entry, NBestList, feature_names, to_forest
from toledo.progress import Progress, silent
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

log = logging.getLogger(__name__)

SEGMENTS_AT_ONCE = 1000

Words = Sequence[str]


@dataclass(frozen=True)
class Choice:
    """A rule, the scale of scores, and how many texts to give for each segment, best first."""

    rule: Rule
    scale: float = 1.0
    size: int = 1
    threads: int | None = None
    progress: Progress = silent

    def rank(
        self, forests: Sequence[Forest], evidence: Sequence[Forest] | None, weights: Mapping[str, float]
    ) -> list[list[Decision]]:
        """The best texts of each segment; none where nothing is possible."""
        if self.size == 1 and evidence is None:
            found = decide(self.rule, forests, weights, self.scale, self.threads, self.progress)
            return [[one] if one.value > -float("inf") else [] for one in found]
        if not isinstance(self.rule, MBR):
            raise InputError(
                f"{self.rule.name} makes no ranking and takes no evidence",
                remedy="choose --decide mbr, or leave --n-best-size and --evidence out",
            )
        rankings = rank_all(self.rule, forests, weights, self.scale, evidence, self.threads, self.progress)
        return [ranking[: self.size] for ranking in rankings]


@dataclass(frozen=True)
class ToForests:
    """How lists become forests: by scores of the file, by features and weights, or all entries alike."""

    vocabulary: Vocabulary
    weights: Weights | None
    uniform: bool
    split: Callable[[Words], Words] | None

    def __call__(self, lists: Sequence[NBestList]) -> list[Forest]:
        """One forest of one node for each list."""
        if self.weights is None:
            scored = [self._scored(some) for some in lists]
            return [from_nbest([ListEntry(*entry) for entry in some], (), self.vocabulary) for some in scored]
        names = feature_names(lists)
        if not names and any(some.entries for some in lists):
            raise InputError("the lists have no features to weigh", remedy="leave --weights out")
        rows = [[ListEntry(self.words(entry), entry.features) for entry in some.entries] for some in lists]
        return [to_forest(row, names, self.vocabulary) for row in rows]

    def ignores_features(self, lists: Sequence[NBestList]) -> bool:
        """Whether features are all that is known of hypotheses, and nobody says what they are worth."""
        entries = [entry for some in lists for entry in some.entries]
        silent_scores = self.weights is None and not self.uniform and all(entry.score is None for entry in entries)
        return silent_scores and any(entry.features for entry in entries)

    def words(self, entry: Entry) -> Words:
        """What the rule sees of an entry."""
        return entry.words if self.split is None else self.split(entry.words)

    def texts(self, some: NBestList) -> dict[tuple[str, ...], Words]:
        """The first entry of each text that the rule sees."""
        found: dict[tuple[str, ...], Words] = {}
        for entry in some.entries:
            found.setdefault(tuple(self.words(entry)), entry.words)
        return found

    def _scored(self, some: NBestList) -> list[tuple[Words, dict[str, float], float]]:
        known = [entry.score is not None for entry in some.entries]
        if not self.uniform and any(known) and not all(known):
            raise InputError(
                f"segment {some.segment}: hypothesis {known.index(False) + 1} has no score, but others have",
                remedy="give each a score, or ignore them all: --uniform",
            )
        return [(self.words(entry), {}, 0.0 if self.uniform else entry.score or 0.0) for entry in some.entries]


def tell_of_raw_text(lists: Sequence[NBestList], to_forests: ToForests, rule: Rule) -> None:
    """Say what rules that compare words make of raw text; letters and whole texts are no matter."""
    if to_forests.split or isinstance(rule, Viterbi | MaxTranslation) or getattr(rule, "gain", "") == "chrf":
        return
    if word := raw_word([entry.words[-1] for some in lists for entry in some.entries if entry.words]):
        hint = "--tokenize 13a splits such words for the choice, and --decide mbr --gain chrf compares letters"
        log.warning("the texts look raw, with words such as %r: %s", word, hint)


def decisions(
    lists: Iterator[NBestList], evidence: Iterator[NBestList] | None, to_forests: ToForests, how: Choice
) -> Iterator[NBestList]:
    """Rankings of each segment, as far as wanted, some segments at a time."""
    empty, told, first = list[int](), False, True
    while block := list(islice(lists, SEGMENTS_AT_ONCE)):
        forests = to_forests(block)
        if first:
            tell_of_raw_text(block, to_forests, how.rule)
            first = False
        empty += [some.segment for some in block if not some.entries]
        if not told and to_forests.ignores_features(block):
            told = True
            log.warning(
                "features are not looked at: all hypotheses count the same (--weights FILE makes scores of them)"
            )
        given = None
        if evidence is not None:
            other = list(islice(evidence, len(block)))
            if len(other) < len(block):
                raise InputError(
                    f"the evidence ends at segment {block[0].segment + len(other)}",
                    remedy="segment i of the evidence must belong to segment i of the hypotheses",
                )
            given = to_forests(other)
        for some, ranking in zip(block, how.rank(forests, given, to_forests.weights or {}), strict=True):
            texts = to_forests.texts(some)
            chosen = [(tuple(to_forests.vocabulary.words(one.words.tolist())), one.value) for one in ranking]
            yield NBestList(some.segment, tuple(Entry(texts[words], score=value) for words, value in chosen))
    if empty:
        log.warning("%d segments have no hypothesis, and an empty line: the first is segment %d", len(empty), empty[0])
    if evidence is not None and next(evidence, None) is not None:
        raise InputError("the evidence has more segments than the hypotheses", remedy="cut it to the same segments")
