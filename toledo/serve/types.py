"""What is asked of the server and what it answers: translating, deciding, forests, choosing and combining.

Each action is a function from a request to a result. `/api/v1/…` writes the result as JSON, `/view/…` draws it. Fields
have the names of the arguments of `toledo`. Long work and what is kept are in `toledo.serve.work_types`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

Probability = Annotated[float, Meta(ge=0, le=1)]
Size = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Scores = dict[str, float]


def six(value: float) -> float:
    """Return a number with six decimals, as all JSON of Toledo has them."""
    return round(float(value), 6)


class Ask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request; fields that it does not have are refused."""


class Answer(Struct, frozen=True, kw_only=True):
    """A result, or a part of one."""


# Translating and deciding.


class Deciding(Ask, frozen=True, kw_only=True):
    """How to decide: rules, and the distribution that they see."""

    rules: list[str] | None = None  # None: the rule of the model
    metric: str | None = None  # None: that of the rule
    scale: Positive | None = None  # None: that of the model, else 1
    weights: dict[str, float] = field(default_factory=dict)  # in place of those of the model
    nbest: Size = 0  # texts to list, those with the highest expected score first
    posteriors: Annotated[int, Meta(ge=0, le=4)] = 0  # of n-grams up to this length


class TranslateRequest(Deciding, frozen=True, kw_only=True):
    """Texts to translate, one for each segment."""

    segments: list[str]
    model: str | None = None  # None: the first
    tokenized: bool = False
    keep: bool = False  # the forests, to decide again


class DecideRequest(Deciding, frozen=True, kw_only=True):
    """Decide again on a kept forest; `quick` looks at its list of texts alone, for sliders that move."""

    quick: bool = False


class PhrasePlaces(Answer, frozen=True, kw_only=True):
    """First word and last word plus 1 in the source, and in the translation."""

    source: tuple[int, int]
    target: tuple[int, int]


class RuleChoice(Answer, frozen=True, kw_only=True):
    """A text, and the rules that choose it.

    `posteriors` has one list for each word: of the word, of the two words that begin there, and so on. `score` and
    `features` are those of its best derivation; without them the text is not among the best ones of the forest, or
    only the best derivation was asked for.
    """

    rules: list[str]
    text: str
    words: list[str]
    posteriors: list[list[float]] = field(default_factory=list)
    phrases: list[PhrasePlaces] = field(default_factory=list)
    probability: float | None = None
    expected: float | None = None
    score: float | None = None
    features: Scores = field(default_factory=dict)


class ListedText(Answer, frozen=True, kw_only=True):
    """A text of the n-best list; `score_rank` is its place by the score of the model, from 1."""

    text: str
    words: list[str]
    probability: float
    expected: float
    score: float
    score_rank: int
    features: Scores = field(default_factory=dict)


class KeptForest(Answer, frozen=True, kw_only=True):
    """The id of a forest, its size, and for how many seconds it is kept after its last use."""

    id: str
    nodes: int
    edges: int
    expires: float


class TranslatedSegment(Answer, frozen=True, kw_only=True):
    """What the rules choose for a segment; `perplexity` is that of the distribution over derivations."""

    source: list[str]
    unknown: list[str]
    choices: list[RuleChoice]
    perplexity: float | None = None
    nbest: list[ListedText] = field(default_factory=list)
    forest: KeptForest | None = None


class Seconds(Answer, frozen=True, kw_only=True):
    """How long a request waited, and how long each part took."""

    queue: float = 0.0
    search: float = 0.0
    decide: float = 0.0


class TranslateResult(Answer, frozen=True, kw_only=True):
    """Translations, with the weights, the scale and the metric that they were decided with."""

    model: str
    weights: Scores
    scale: float
    metric: str
    seconds: Seconds
    segments: list[TranslatedSegment]


class DecideResult(Answer, frozen=True, kw_only=True):
    """A decision on a kept forest."""

    model: str
    weights: Scores
    scale: float
    metric: str
    seconds: Seconds
    segment: TranslatedSegment


# The picture of a forest.


class ForestRequest(Ask, frozen=True, kw_only=True):
    """A window of the drawing: `near` has labels, `far` has all lines."""

    posterior: Probability = 0.02
    view: Literal["near", "far"] = "near"
    x: float = 0.0
    y: float = 0.0
    width: Positive = 1200.0
    height: Positive = 600.0
    scale: Positive | None = None
    format: Literal["json", "svg", "dot"] = "json"


class PlacedEdge(Answer, frozen=True, kw_only=True):
    """An edge in the drawing: its label, the middle of the label, and a line of points for each tail and the head."""

    number: int
    label: str
    text: str
    posterior: float
    best: bool
    x: float
    y: float
    width: float
    height: float
    tails: list[int]
    head: int
    lines: list[list[tuple[float, float]]]


class PlacedNode(Answer, frozen=True, kw_only=True):
    """A node in the drawing."""

    number: int
    x: float
    y: float


class ForestWindow(Answer, frozen=True, kw_only=True):
    """The part of a drawing that is seen: `share` is how much of the probability the whole drawing holds.

    `nodes` and `edges` are the numbers of the whole forest, `width` and `height` the size of the whole drawing.
    """

    id: str
    nodes: int
    edges: int
    drawn: int
    share: float
    width: float
    height: float
    view: str
    goal: int
    window: tuple[float, float, float, float]
    placed_nodes: list[PlacedNode]
    placed_edges: list[PlacedEdge]


# Choosing among samples.


class GivenHypothesis(Ask, frozen=True, kw_only=True):
    """A sample with what is known of it."""

    text: str
    score: float | None = None
    logprob: float | None = None
    num_tokens: Size | None = None
    weight: Annotated[float, Meta(ge=0)] | None = None
    system: str | None = None


class ChooseSegment(Ask, frozen=True, kw_only=True):
    """The samples of a segment; `utilities` replaces the metric by a matrix of their own."""

    hypotheses: list[str | GivenHypothesis]
    id: str | int | None = None
    source: str | None = None
    references: list[str] | None = None
    utilities: list[list[float]] | None = None


class Choosing(Ask, frozen=True, kw_only=True):
    """How to choose."""

    metric: str = "chrf"
    rule: str = "mbr"
    scale: Positive = 1.0
    logprobs: Literal["sum", "mean"] | None = None
    uniform: bool = False  # all samples count alike, whatever their scores
    matrix: bool = False
    clusters: bool = False


class ChooseRequest(Choosing, frozen=True, kw_only=True):
    """Samples, as one of: segments, responses of an OpenAI-compatible server, or the text of a file of lists."""

    segments: list[ChooseSegment] | None = None
    responses: list[dict[str, Any]] | None = None
    text: str | None = None


class ChosenSegment(Answer, frozen=True, kw_only=True):
    """The choice among the samples of a segment.

    `texts` are the distinct ones with their probabilities; `expected`, `matrix` and `tree` are of them, `places` says
    which of them each sample is. `tree` joins the two nearest groups step by step: their numbers, and how much they
    agree; group n + k is what step k made.
    """

    id: str | int | None
    choice: int | None  # the place of the sample
    text: str
    hypotheses: list[str]
    texts: list[str]
    places: list[int]
    probabilities: list[float]
    expected: list[float | None]
    ahead: float | None  # of the second
    confidence: float | None = None
    system: str | None = None
    matrix: list[list[float]] | None = None
    tree: list[tuple[int, int, float]] | None = None
    order: list[int] | None = None  # of the texts along the tree


class SkippedLine(Answer, frozen=True, kw_only=True):
    """A part of the input that was left out, and why."""

    message: str
    remedy: str = ""
    line: int | None = None
    segment: int | None = None


class ChooseResult(Answer, frozen=True, kw_only=True):
    """The choices, and lines of a file that could not be read."""

    metric: str
    rule: str
    higher_is_better: bool
    signature: str
    seconds: Seconds
    segments: list[ChosenSegment]
    problems: list[SkippedLine] = field(default_factory=list)


# Combining systems.


class CombineRequest(Ask, frozen=True, kw_only=True):
    """Outputs of systems, one text for each segment; without a tuned combination all systems have equal shares."""

    systems: dict[str, list[str]]
    combination: str | None = None  # the name of a tuned one
    references: list[str] | None = None
    shares: dict[str, Annotated[float, Meta(ge=0)]] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    language: str = "en"
    tokenized: bool = False


class NetworkArc(Answer, frozen=True, kw_only=True):
    """A word of a column ("" for none), its votes, the places of its systems, and whether the result has it."""

    word: str
    votes: float
    systems: list[int]
    chosen: bool


class CombinedSegment(Answer, frozen=True, kw_only=True):
    """The result for a segment, with the network that it is a path of; `votes` is for each word of the result."""

    text: str
    words: list[str]
    votes: list[float]
    outputs: list[str]
    columns: list[list[NetworkArc]]
    score: float | None = None


class SystemScore(Answer, frozen=True, kw_only=True):
    """The score of a system, or of the combination."""

    name: str
    score: float
    difference: float | None = None  # of the combination and this system
    p: float | None = None


class CombineResult(Answer, frozen=True, kw_only=True):
    """Networks, results, and scores if there are references."""

    systems: list[str]
    shares: Scores
    weights: Scores
    seconds: Seconds
    segments: list[CombinedSegment]
    metric: str | None = None
    scores: list[SystemScore] = field(default_factory=list)
    note: str = ""
