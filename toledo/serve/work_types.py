"""Requests and results of documents, comparisons, runs and jobs, and what the server says about itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from toledo.serve.types import Answer, Ask, Scores, Size

JobState = Literal["waiting", "running", "done", "failed", "stopped"]


# Jobs.


class JobStarted(Answer, frozen=True, kw_only=True):
    """Long work that has begun."""

    job: str


class Problem(Answer, frozen=True, kw_only=True):
    """An error as `application/problem+json` (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str = ""
    where: str | None = None
    request: str = ""


class JobResult(Answer, frozen=True, kw_only=True):
    """The state of a job; `result` is what the action would have returned, as far as it is done."""

    job: str
    kind: Literal["translate", "documents", "compare"]
    state: JobState
    done: int = 0
    total: int = 0
    rate: float | None = None
    left: float | None = None
    result: Any = None
    problem: Problem | None = None


# Documents.


class DocumentsRequest(Ask, frozen=True, kw_only=True):
    """A document to translate with models that look beyond the sentence, step by step."""

    segments: list[str]
    model: str | None = None
    document_models: dict[str, float] = field(default_factory=dict)
    start: Literal["beam", "random"] = "beam"
    steps: Annotated[int, Meta(ge=1, le=10_000_000)] = 100_000
    seed: int = 1
    references: list[str] | None = None
    tokenized: bool = False


class DocumentStep(Answer, frozen=True, kw_only=True):
    """The text after some steps; `changed` are the segments that differ from those of the step before it."""

    step: int
    score: float
    texts: list[str]
    changed: list[int]
    models: Scores = field(default_factory=dict)


class TermTranslation(Answer, frozen=True, kw_only=True):
    """A translation of a term, and its places: segment, first word and last word plus 1."""

    text: str
    places: list[tuple[int, int, int]]


class Term(Answer, frozen=True, kw_only=True):
    """A source word that comes back, with the places where it stands, and its translations."""

    source: str
    places: list[tuple[int, int, int]]
    translations: list[TermTranslation]


class DocumentsResult(Answer, frozen=True, kw_only=True):
    """A translated document: its course, the value of each model at the start and now, terms and their translations."""

    model: str
    sources: list[list[str]]
    steps: list[DocumentStep]
    start: Scores
    now: Scores
    total: int
    terms: list[Term] = field(default_factory=list)
    bleu: float | None = None
    stopped: str = ""


# Comparisons.


class CompareRequest(Ask, frozen=True, kw_only=True):
    """Texts of systems, with references: a list of texts for each reference translation."""

    systems: dict[str, list[str]]
    references: list[list[str]]
    sources: list[str] | None = None
    metrics: list[str] = field(default_factory=lambda: ["bleu", "chrf", "ter"])
    baseline: str | None = None
    tokenize: str | None = None
    lowercase: bool = False
    segment_metric: str = "chrf"
    resamples: Annotated[int, Meta(ge=100, le=10_000)] = 1000
    seed: int = 12345


class KeptComparison(Answer, frozen=True, kw_only=True):
    """A comparison that is kept; what it is compared from is asked for in parts."""

    id: str
    systems: list[str]
    segments: int
    references: int
    metrics: list[str]
    segment_metric: str
    expires: float


class ScoresRequest(Ask, frozen=True, kw_only=True):
    """Which segments: those with words, an n-gram that one system has more often, lengths, differences."""

    a: Size = 0  # the places of two systems; differences are b − a
    b: Size = 1
    query: str = ""  # in any text of the segment
    gram: str = ""  # an n-gram that b gets right more often than a, or the other way round
    low: float | None = None  # difference of the segment scores: at least, and less than
    high: float | None = None
    shortest: Size | None = None  # words of the reference
    longest: Size | None = None


class SegmentsRequest(ScoresRequest, frozen=True, kw_only=True):
    """A window of the segments that the filter leaves; a minus sign sorts downwards."""

    sort: Literal["number", "-number", "difference", "-difference", "length", "-length", "score", "-score"] = "number"
    first: Size = 0
    count: Annotated[int, Meta(ge=1, le=1000)] = 60


class PlotRequest(ScoresRequest, frozen=True, kw_only=True):
    """A plot of what the filter leaves, drawn for a width."""

    width: Literal[360, 720, 1080] = 720


class MetricScore(Answer, frozen=True, kw_only=True):
    """A score with the ends of its interval; `difference`, its interval and p are against the baseline."""

    metric: str
    score: float
    low: float | None = None
    high: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    better: bool | None = None  # significantly (True), significantly worse (False), or neither


class ComparedSystem(Answer, frozen=True, kw_only=True):
    """All scores of a system."""

    name: str
    baseline: bool
    scores: list[MetricScore]


class ScoresResult(Answer, frozen=True, kw_only=True):
    """Scores of the segments that the filter leaves; `test` says which test it is, `signatures` how it was scored."""

    id: str
    segments: int
    total: int
    systems: list[ComparedSystem]
    test: str
    signatures: dict[str, str]
    higher_is_better: dict[str, bool]


class ComparedSegment(Answer, frozen=True, kw_only=True):
    """A segment: its number from 0, and the texts and scores of all systems."""

    number: int
    references: list[str]
    outputs: list[str]
    scores: list[float]
    difference: float
    source: str | None = None


class SegmentsResult(Answer, frozen=True, kw_only=True):
    """A window of the segments that the filter leaves, in the order asked for."""

    id: str
    systems: list[str]
    metric: str
    found: int
    total: int
    first: int
    segments: list[ComparedSegment]


class CountedBar(Answer, frozen=True, kw_only=True):
    """Segments whose values lie from `low` up to `high`; None is an open end."""

    low: float | None
    high: float | None
    segments: int
    difference: float | None = None  # of the scores, with its interval, for bars by length
    difference_low: float | None = None
    difference_high: float | None = None


class GramDifference(Answer, frozen=True, kw_only=True):
    """An n-gram of the references, and how often each of the two systems gets it right."""

    text: str
    a: int
    b: int
    segments: list[int]


class PlotResult(Answer, frozen=True, kw_only=True):
    """The bars of a plot (`differences`, `lengths`), or n-grams (`grams`: won by b first, then lost)."""

    id: str
    kind: Literal["differences", "lengths", "grams"]
    a: str
    b: str
    metric: str
    width: int
    bars: list[CountedBar] = field(default_factory=list)
    won: list[GramDifference] = field(default_factory=list)
    lost: list[GramDifference] = field(default_factory=list)
    wins: int = 0
    ties: int = 0
    losses: int = 0


# Runs.


class RunSummary(Answer, frozen=True, kw_only=True):
    """A run below the directories that the command line named."""

    id: str
    name: str
    kind: str
    tuner: str
    metric: str
    higher_is_better: bool
    rounds: int
    best_round: int
    best_score: float | None
    scores: list[float]
    cpu_seconds: float
    state: Literal["running", "done", "broken"]
    note: str = ""


class RunsRequest(Ask, frozen=True, kw_only=True):
    """Runs whose names match a regular expression, or all."""

    filter: Annotated[str, Meta(max_length=200)] = ""


class RunsResult(Answer, frozen=True, kw_only=True):
    """The runs that are there."""

    runs: list[RunSummary]
    directories: list[str]


class RunRound(Answer, frozen=True, kw_only=True):
    """A round of a run."""

    number: int
    objective: float | None
    scores: Scores
    weights: Scores
    seconds: float


class RunResult(Answer, frozen=True, kw_only=True):
    """A run, round by round, with its settings."""

    summary: RunSummary
    rounds: list[RunRound]
    settings: dict[str, Any]


# About the server.


class ModelAbout(Answer, frozen=True, kw_only=True):
    """A model that is served."""

    name: str
    source_language: str
    target_language: str
    features: list[str]
    weights: Scores
    rule: str
    scale: float
    metric: str
    raw: bool
    phrases: int
    reranked: bool
    signature: str


class CombinationAbout(Answer, frozen=True, kw_only=True):
    """A tuned combination that is served."""

    name: str
    systems: list[str]
    shares: Scores
    weights: Scores


class Limits(Answer, frozen=True, kw_only=True):
    """What the server accepts at most."""

    body_bytes: int
    compare_bytes: int
    segments: int
    words: int
    hypotheses: int
    all_hypotheses: int
    systems: int
    columns: int
    nbest: int
    waiting: int
    running: int
    connections: int
    seconds: float
    kept_bytes: int
    kept_seconds: float
    streams: int
    closing_seconds: float


class AboutResult(Answer, frozen=True, kw_only=True):
    """What is served: models, rules, metrics, limits."""

    version: str
    models: list[ModelAbout]
    combinations: list[CombinationAbout]
    rules: list[str]
    list_rules: list[str]
    metrics: list[str]
    document_models: list[str]
    limits: Limits
    demo: bool = False
    runs: bool = False
