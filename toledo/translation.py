"""Blocks of lines to blocks of translations: by a search, by a decision rule on what it finds, or as given.

`Translated` is a translation with its details; `Trace` has its phrases with their contributions to the score.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

from toledo.compiled.kernels import compiled_kernels
from toledo.consensus.choice import Choice
from toledo.consensus.decide import Viterbi, decide
from toledo.consensus.rule import Decision, Rule
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, display_name, read_blocks
from toledo.forest.derivations import Derivation, viterbi
from toledo.forest.forest import Forest
from toledo.metrics.metric import Metric
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.reranking.reranker import NAMES as RERANKING_FEATURES
from toledo.reranking.reranker import Reranker
from toledo.results import Hypothesis, Result, TableResult, plain, table
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.gibbs.diagnostics import STUCK, SUSPICIOUS, Diagnostics, ObservedGibbs, diagnose
from toledo.search.gibbs.samples import Samples
from toledo.search.search import EncodedSentence, Search, as_given
from toledo.search.steps import COPIED, Step, phrase_edges, steps_of, word_links
from toledo.text.preparation import TOKENIZED, Preparation
from toledo.text.rare_words import given_links, given_span, given_words
from toledo.text.vocabulary import UNKNOWN
from toledo.weights import Weights

log = logging.getLogger(__name__)

BYTES_AT_ONCE = 1 << 20
LINES_AT_ONCE = 10_000
FORESTS_AT_ONCE = 256  # they need far more memory than text
MOST_REASONS = 10
FEW_WORDS = 20  # too few to say anything of a text
LONGER = 5  # times as many iterations are worth a try where chains disagree
TEXT_COLUMNS = 3  # of a trace
ONE_EACH = "give one translation for each line of the text"


@dataclass(frozen=True)
class Translated(Result):
    """A translation with its derivation or the choice of a rule.

    `hypothesis` is its derivation with model score, features and word alignment; `segmentation` has the first and the
    last source word (plus 1) and the target words of each phrase. Where a rule has chosen the text, there is a `choice`
    instead of them.
    """

    text: str
    score: float | None = None
    hypothesis: Hypothesis | None = field(default=None, repr=False)
    choice: Choice | None = None
    alignment: tuple[tuple[int, int], ...] | None = field(default=None, repr=False)
    segmentation: tuple[tuple[int, int, str], ...] | None = field(default=None, repr=False)
    unknown_words: tuple[str, ...] = ()
    segment: int = 0
    sign: str = field(default="", repr=False)

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return how the text was translated."""
        return self.sign

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        found = super().to_dict()
        del found["sign"]
        return {"segment": found.pop("segment"), **found}

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Trace(TableResult):
    """The phrases of a translation: their features as they are, their weighted score, and the total so far.

    `reason` says why there is no translation, `counts` how much work was done.
    """

    source: str
    rows: tuple[tuple[str, ...], ...] = ()
    unknown_words: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    segment: int = 0

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary for each phrase and one for the end of the sentence."""
        return [dict(zip(self.rows[0], row, strict=True)) for row in self.rows[2:]]

    def __str__(self) -> str:
        lines = [f"segment {self.segment}: {self.source}"]
        if self.rows:
            lines += [f"  {line}" for line in table(self.rows, left=range(TEXT_COLUMNS))]
        else:
            lines.append(f"  no translation: {self.reason}" if self.reason else "  no translation")
        if self.unknown_words:
            lines.append(f"  unknown: {' '.join(self.unknown_words)}")
        return "\n".join([*lines, "  " + ", ".join(f"{number} {name}" for name, number in self.counts.items())])


@dataclass(frozen=True, eq=False, repr=False)
class SampledHypotheses(Result, Sequence[Hypothesis]):
    """Derivations drawn from the model's distribution, those drawn most often first, each with its `count`."""

    samples: Samples
    source: Sequence[str] = ()
    text: Preparation = TOKENIZED

    @cached_property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Return the distinct derivations."""
        found, derivations, names = [], self.samples.derivations, self.samples.model.feature_names
        for number, values in enumerate(self.forest.features.tolist()):
            steps = derivations.steps(number)
            words = " ".join(word for step in steps for word in step.words)
            text = self.text.target.write(as_given(words, self.source))
            links = given_links(self.source, word_links(self.samples.model.table, steps))
            features, count = dict(zip(names, values, strict=True)), int(self.samples.counts[number])
            found.append(Hypothesis(text, float(self.samples.scores[number]), features, count=count, alignment=links))
        return tuple(found)

    @property
    def forest(self) -> Forest:
        """Return an edge for each derivation; at the model's weights, the distribution is that of the samples."""
        return self.samples.forest

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Return whether the sampler has run long enough: `r_hat`, `effective_size`, `entropy`, and more."""
        return diagnose(self.samples)

    def expected_ngrams(self, order: int = 4) -> dict[str, float]:
        """Return the expected count of each n-gram, with all translations that each phrase could have had."""
        words = self.samples.model.target_vocabulary.words
        return {" ".join(words(ngram)): count for ngram, count in self.samples.expected_ngrams(order).items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the derivations and what is known about the chains."""
        return {"hypotheses": plain(self.hypotheses), "diagnostics": self.diagnostics.to_json()}

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, place: int) -> Hypothesis: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Hypothesis]: ...
    def __getitem__(self, place: int | slice) -> Hypothesis | Sequence[Hypothesis]:
        return self.hypotheses[place]

    def __repr__(self) -> str:
        return f"SampledHypotheses({self.samples.size} samples, {len(self)} derivations)"


@dataclass(frozen=True)
class TranslatedLine:
    """The result for one segment: `line` is the result, `steps` are the phrases of the best derivation.

    `decision` is what a rule has chosen, if there is one.
    """

    source: Sequence[str]
    line: str
    steps: tuple[Step, ...]
    score: float = -math.inf
    forest: Forest | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    decision: Decision | None = None
    unknown: tuple[str, ...] = ()

    def trace(self, segment: int, weights: Mapping[str, float], reason: str = "") -> Trace:
        """Return the phrases of the best derivation, if there is one; this needs the forest."""
        best = self._best(weights)
        source = " ".join(given_words(self.source))
        if best is None:
            return Trace(source, (), (), self.counts, reason, segment)
        steps = steps_of(best)
        unknown = tuple(self.source[step.begin] for step in steps if step.pair == COPIED)
        return Trace(source, tuple(_rows(self.source, best, steps, weights)), unknown, self.counts, "", segment)

    def result(self, model: PhraseModel, segment: int, choice: Choice | None, sign: str) -> Translated:
        """Return the result for users, without the forest."""
        if self.decision is not None or self.score == -math.inf:
            return Translated(self.line, None, None, choice, None, None, self.unknown, segment, sign)
        links = given_links(self.source, word_links(model.table, self.steps))
        best = self._best(model.weights)
        features = {} if best is None else best.stored_features
        hypothesis = Hypothesis(self.line, self.score, features, alignment=links)
        spans = (given_span(self.source, step.begin, step.end) for step in self.steps)
        phrases = tuple((*span, " ".join(step.words)) for span, step in zip(spans, self.steps, strict=True))
        return Translated(self.line, self.score, hypothesis, None, links, phrases, self.unknown, segment, sign)

    def _best(self, weights: Mapping[str, float]) -> Derivation | None:
        if self.forest is None or self.forest.provenance is None:  # lists of samples do not know their phrases
            return None
        (best,) = viterbi(self.forest, self.forest.scores(weights))
        return best


class Translator:
    """Translates lines as they come, in order and without holding anything back.

    Without a rule, the result is the best derivation that the search finds. The rule decides on its forests, whose
    scores are multiplied by `scale`. With a `reranker`, it decides on lists that are scored again. Forests are part of
    the results if `forests` says so, or if a rule needs them. `text` says how lines become words, and words lines.
    """

    def __init__(
        self,
        search: Search[Any],
        rule: Rule | None = None,
        scale: float = 1.0,
        *,
        reranker: Reranker | None = None,
        text: Preparation = TOKENIZED,
        forests: bool = False,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> None:
        self.text, self._doubted = text, False
        self.rule = Viterbi() if rule is None and reranker is not None else rule
        self.search, self.model, self.reranker, self.scale = search, search.model, reranker, scale
        self.forests, self.threads, self.progress = forests or self.rule is not None, threads, progress
        self.failed = self.words = self.unknown = 0

    def blocks(self, source: str) -> Iterator[list[TranslatedLine]]:
        """Translate a file block by block, as its lines are there."""
        interactive = source == STANDARD_STREAM and sys.stdin.isatty()
        self.progress = silent if interactive else self.progress
        lines = 0
        for block in read_blocks(source, size=BYTES_AT_ONCE, prompt=True):
            texts = _lines(block)
            yield from self.parts(self.sentences(texts), lines)
            lines += len(texts)

    def sentences(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of texts; warn once if they do not look as the model expects them."""
        if not self._doubted and (doubt := self.text.source.doubt(texts, self.model.source_vocabulary)):
            log.warning("%s", doubt)
            self._doubted = True
        return [self.text.source.words(text) for text in texts]

    def lines(self, sentences: Sequence[Sequence[str]]) -> list[str]:
        """Translate sentences that are all there."""
        return [found.line for part in self.parts(sentences) for found in part]

    def parts(self, sentences: Sequence[Sequence[str]], first: int = 0) -> Iterator[list[TranslatedLine]]:
        """Translate sentences part by part; `first` is the number of the first one."""
        size = FORESTS_AT_ONCE if self.forests else LINES_AT_ONCE
        for begin in range(0, len(sentences), size):
            encoded = self.search.encode(sentences[begin : begin + size])
            self.words += sum(len(sentence.words) for sentence in encoded)
            self.unknown += sum(sentence.unknown for sentence in encoded)
            yield self._translate(encoded, first + begin)

    @property
    def signature(self) -> str:
        """Return how this translates, in one line."""
        rule = "viterbi" if self.rule is None else f"{self.rule.name}|scale:{self.scale:g}"
        reranked = "" if self.reranker is None else "|reranked"
        return f"rule:{rule}{reranked}|{self.model.signature}"

    @property
    def weights(self) -> Weights:
        """Return the weights of the forests that rules decide on."""
        return self.model.weights if self.reranker is None else self.reranker.weights

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the features of the forests that rules decide on."""
        return self.model.feature_names if self.reranker is None else RERANKING_FEATURES

    def forests_for_rules(
        self, sentences: Sequence[EncodedSentence], forests: Sequence[Forest] | None = None
    ) -> Sequence[Forest]:
        """Return the forests that rules decide on: those of the search, unless a reranker makes lists of them."""
        found = self.search.forests(sentences, self.threads, self.progress) if forests is None else forests
        if self.reranker is None:
            return found
        return self.reranker.lists(found, sentences, self.model.weights, self.threads, self.progress)

    def result(self, found: TranslatedLine, segment: int) -> Translated:
        """Return the result of a line for users, without its forest."""
        return found.result(self.model, segment, self._choice(found, segment), self.signature)

    def _choice(self, found: TranslatedLine, segment: int) -> Choice | None:
        if self.rule is None or found.decision is None:
            return None
        metric = getattr(self.rule, "metric", None)
        name = metric.name if isinstance(metric, Metric) else metric
        value = found.decision.value if found.decision.value > -math.inf else None
        return Choice(
            found.line, score=value, rule=self.rule.name, metric=name, scale=self.scale, segment=segment,
            sign=self.signature,
        )  # fmt: skip

    def report(self) -> None:
        """Log how many segments have no translation, and whether this is the text that the model knows."""
        if self.words >= FEW_WORDS and self.unknown > self.words / 2:
            log.warning(
                "%d of %d words are unknown to the model: is this its source language, tokenized in the same way?",
                self.unknown,
                self.words,
            )
        if self.failed:
            log.warning("%d segments have no translation", self.failed)
        if isinstance(self.search, ObservedGibbs) and self.search.r_hats:
            _report_chains(self.search.r_hats, self.search.settings.iterations)

    @property
    def diagnostics(self) -> list[Diagnostics]:
        """Return what a sampler recorded about its chains."""
        return self.search.notes if isinstance(self.search, ObservedGibbs) else []

    def _translate(self, sentences: list[EncodedSentence], first: int) -> list[TranslatedLine]:
        if not self.forests:
            best = self.search.translate(sentences, self.threads, self.progress)
            self.failed += sum(one.score == -math.inf for one in best)
            return [
                TranslatedLine(one.words, self._line(str(found), one), found.steps, found.score, unknown=_new(one))
                for one, found in zip(sentences, best, strict=True)
            ]
        results = self.search.results(sentences, self.threads, self.progress)
        self.failed += sum(one.translation.score == -math.inf for one in results)
        decisions = self._decide(sentences, [one.forest for one in results])
        lines = []
        for sentence, decision, one in zip(sentences, decisions, results, strict=True):
            work = {"options": one.options, "steps tried": one.pops, "hypotheses": one.nodes}
            text = str(one.translation)
            if decision is not None:
                text = " ".join(self.model.target_vocabulary.words(decision.words.tolist()))
            lines.append(
                TranslatedLine(
                    sentence.words, self._line(text, sentence), one.translation.steps, one.translation.score,
                    one.forest, {**work, "edges kept": one.forest.edges}, decision, _new(sentence),
                )
            )  # fmt: skip
        return lines

    def _line(self, words: str, sentence: EncodedSentence) -> str:
        return self.text.target.write(as_given(words, sentence.words))

    def _decide(self, sentences: Sequence[EncodedSentence], forests: list[Forest]) -> Sequence[Decision | None]:
        if self.rule is None:
            return [None] * len(forests)
        found = self.forests_for_rules(sentences, forests)
        return decide(self.rule, found, self.weights, self.scale, self.threads, self.progress)


class ForcedTranslator(Translator):
    """Scores given translations instead of searching; the result of a line is the score of its best derivation."""

    def __init__(
        self,
        search: Search[Any],
        targets: Iterable[str],
        *,
        name: str = "`targets`",
        text: Preparation = TOKENIZED,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> None:
        super().__init__(search, text=text, forests=True, threads=threads, progress=progress)
        self.name = name
        self._forced, self._given = ForcedDecoder(search.model), iter(targets)

    def blocks(self, source: str) -> Iterator[list[TranslatedLine]]:
        """Score the translations of a file block by block."""
        if source == self.name == STANDARD_STREAM:
            raise InputError("text and translations cannot both come from standard input", remedy="name a file")
        lines = 0
        for block in super().blocks(source):
            lines += len(block)
            yield block
        if next(self._given, None) is not None:
            raise InputError(f"more than the {lines} lines of the text", file=display_name(self.name), remedy=ONE_EACH)

    def report(self) -> None:
        """Log how many translations cannot be made by the model."""
        failed, self.failed = self.failed, 0
        super().report()
        self.failed = failed
        if failed:
            log.warning("%d segments have no translation as given", failed)

    def why_not(self, found: TranslatedLine, target: str) -> str:
        """Return why the model cannot produce a translation."""
        return self._forced.why_not(found.source, self.text.target.words(target))

    def _translate(self, sentences: list[EncodedSentence], first: int) -> list[TranslatedLine]:
        targets = [self._target(first + place) for place in range(len(sentences))]
        forests = self._forced.forests(sentences, targets, self.threads, self.progress)
        found = []
        for number, (sentence, target, forest) in enumerate(zip(sentences, targets, forests, strict=True), start=first):
            (best,) = viterbi(forest, forest.scores(self.model.weights))
            counts, unknown = {"nodes": forest.nodes, "edges": forest.edges}, _new(sentence)
            if best is None:
                found.append(TranslatedLine(sentence.words, "-inf", (), -math.inf, forest, counts, None, unknown))
                if self.failed < MOST_REASONS:
                    log.warning("segment %d: %s", number, self._forced.why_not(sentence.words, target))
                self.failed += 1
            else:
                line, steps = f"{best.score:.6f}", steps_of(best)
                found.append(TranslatedLine(sentence.words, line, steps, best.score, forest, counts, None, unknown))
        return found

    def _target(self, number: int) -> list[str]:
        line = next(self._given, None)
        if line is None:
            raise InputError(f"{number} lines, fewer than the text", file=display_name(self.name), remedy=ONE_EACH)
        return self.text.target.words(line)


@dataclass(frozen=True)
class Speed:
    """CPU time from here on, all threads together; unknown if kernels had to be compiled, which is not work."""

    start: float = field(default_factory=time.process_time)
    compiled: int = field(default_factory=compiled_kernels)

    def report(self, sentences: int, words: int) -> str:
        """Return a line about the speed for these numbers of sentences and words."""
        seconds = max(time.process_time() - self.start, 1e-9)
        if compiled_kernels() > self.compiled:
            return f"sentences: {sentences} (no speed: kernels were compiled meanwhile)"
        rate = f"{sentences / seconds:.{0 if sentences > 9 * seconds else 1}f}"
        return f"sentences: {sentences}, per CPU second {rate}; words per CPU second {words / seconds:.0f}"


def _report_chains(r_hats: Sequence[float], iterations: int) -> None:
    longer = f"try `search=gibbs:iterations={LONGER * iterations}`"
    if any(math.isnan(one) for one in r_hats):
        log.warning("no R-hat: chains are too short to compare; %s", longer)
        return
    bad, stuck = (sum(one > limit for one in r_hats) for limit in (SUSPICIOUS, STUCK))
    summary = f"R-hat above {SUSPICIOUS:g}: {bad} of {len(r_hats)} segments"
    if not bad:
        log.info("%s", summary)
        return
    log.warning("%s%s: their chains disagree; %s", summary, f", {stuck} of them stuck" if stuck else "", longer)


def _new(sentence: EncodedSentence) -> tuple[str, ...]:
    """Return the words that the model does not know."""
    return tuple(sentence.words[place] for place in (sentence.source == UNKNOWN).nonzero()[0].tolist())


def _lines(block: bytes) -> list[str]:
    """Return the lines of a block that ends with a line end, or with the file."""
    return [line.rstrip("\r") for line in block.decode("utf-8").removesuffix("\n").split("\n")]


def _rows(
    source: Sequence[str], best: Derivation, steps: Sequence[Step], weights: Mapping[str, float]
) -> Iterator[tuple[str, ...]]:
    """Yield the head, the weights, one row for each phrase and one for the end of the sentence."""
    forest = best.forest
    names = [name for name in forest.feature_names if best.features[name]]
    sparse = ["sparse"] if forest.sparse else []
    yield "span", "source", "target", *names, *sparse, "score", "total"
    yield "", "", "weight", *(_value(weights[name]) for name in names), *("" for _ in sparse), "", ""
    columns = [forest.feature_names.index(name) for name in names]
    scores, factors = forest.scores(weights), [weights[name] for name in names]
    phrases = phrase_edges(best).tolist()
    rest = [edge for edge in best.edges.tolist() if edge not in set(phrases)]  # start and end
    spans = [given_span(source, step.begin, step.end) for step in steps]
    heads = [
        [f"{begin}-{end - 1}", " ".join(source[step.begin : step.end]), " ".join(step.words)]
        for (begin, end), step in zip(spans, steps, strict=True)
    ]
    total = 0.0
    for head, edges in zip([*heads, ["", "", "</s>"]], [*([edge] for edge in phrases), rest], strict=True):
        values = forest.features[edges][:, columns].sum(axis=0).tolist()
        score = float(scores[edges].sum())
        total += score
        dense = sum(factor * value for factor, value in zip(factors, values, strict=True))
        numbers = [*values, *([score - dense] if sparse else []), score, total]
        yield *head, *map(_value, numbers)


def _value(value: float) -> str:
    return f"{round(value, 3) + 0.0:g}"
