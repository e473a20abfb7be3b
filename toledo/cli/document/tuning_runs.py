"""What `toledo document tune` does between options and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.cli.common import tell_if_new
from toledo.cli.document.options import feature_name
from toledo.cli.document.running import space_digest
from toledo.cli.document.runs import document_models
from toledo.cli.tune.runs import model_digest, with_sparse
from toledo.cli.tune.start_weights import Start
from toledo.errors import InputError
from toledo.formats.documents import read_documents
from toledo.metrics.bleu import BLEU
from toledo.model import Model
from toledo.progress import Progress
from toledo.resumption import Marks, mark
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings, HillClimbing
from toledo.text.corpus import Document
from toledo.tuning.checkpoint import Checkpoint
from toledo.tuning.documents.chains import Chains, ChainSettings
from toledo.tuning.documents.ranking import DocumentPRO, tune_by_ranking
from toledo.tuning.documents.trainer import DocumentTrainer
from toledo.tuning.documents.training import TrainingSettings, train_documents
from toledo.tuning.documents.tune import match_length
from toledo.tuning.history import History
from toledo.tuning.minimum_risk.adaptation import GainAdaptation
from toledo.tuning.minimum_risk.trainer import COOLING
from toledo.weights import Weights

UNTIL_COLD = 1000
L2_OF_SPARSE, STEP_OF_SPARSE = 1e-4, 0.03  # what a step knows of each of many features is mostly noise
JUDGING_STEPS = 30_000

Files = tuple[str, Sequence[str], Path | None]  # source, references, document ids


@dataclass(frozen=True)
class Tuned:
    """What is to be written: weights, and the model with its sparse features.

    The weights are those of the best round, or the mean of some `rounds`; `matched` says that texts were given the
    length of references after that.
    """

    weights: Weights
    model: Model
    history: History
    rounds: range
    best: bool
    matched: bool = False

    @property
    def score(self) -> float:
        """That of these rounds; without held-out documents it is the expected BLEU that they saw, but for ranking."""
        return float(np.mean([self.history.scores[number] for number in self.rounds]))


@dataclass(frozen=True)
class Choices:
    """The options that a result depends on."""

    objective: str
    initial: str
    frozen: str | None
    models: Mapping[str, float]
    space: Path | None
    sparse: str | None
    sparse_features: int
    rounds: int
    l2: float | None
    pairs: Any
    decoding: Any
    positive: bool
    record: int | str
    start: str
    search_steps: int
    batch: int
    steps: int
    sharper: float
    samples: int
    every: float
    burn_in: float
    annealing: bool
    coupled: bool
    match_length: bool
    seed: int

    @property
    def configuration(self) -> dict[str, str]:
        """By the names of options; more rounds may be had of the same run, and files go by their contents."""
        own = {name: str(value) for name, value in asdict(self).items() if name not in ("seed", "rounds", "space")}
        return {"--model" if name == "models" else f"--{name.replace('_', '-')}": own[name] for name in own}

    @property
    def pro(self) -> DocumentPRO:
        """For --objective pro."""
        return DocumentPRO(
            self.pairs, self.decoding, self.positive, self.record, self.rounds, self.search_steps, self.start,
            1.0 if self.l2 is None else self.l2, self.seed,
        )  # fmt: skip

    @property
    def trainer(self) -> DocumentTrainer:
        """For expected BLEU."""
        objective: Any = self.objective
        l2 = (L2_OF_SPARSE if self.sparse else 0.0) if self.l2 is None else self.l2
        annealing = COOLING if self.annealing else None
        steps = GainAdaptation(step=STEP_OF_SPARSE) if self.sparse else GainAdaptation()
        return DocumentTrainer(objective, self.batch, self.steps, annealing, l2, coupled=self.coupled, adaptation=steps)

    @property
    def chains(self) -> ChainSettings:
        """How documents are sampled; a chain that begins takes longer."""
        return ChainSettings(self.samples, self.every, max(6.0 * self.burn_in, 1.0), self.burn_in, seed=self.seed)


def run(
    choices: Choices,
    directory: Path,
    text: Files,
    held_out: Files | None,
    work: Path,
    resume: bool,
    threads: int,
    progress: Progress,
) -> Tuned:
    """Tune."""
    documents, other = _documents(text), _documents(held_out) if held_out else None
    model = with_sparse(Model.load(directory), choices.sparse, choices.sparse_features)
    models = document_models([feature_name(name) for name in choices.models], choices.space, model)
    weights = _start(choices, model)
    configuration = {
        **choices.configuration,
        "MODEL": [[str(directory), model_digest(directory)]],
        "--semantic-space": choices.space and [[str(choices.space), space_digest(choices.space)]],
        **_marks("--", text, documents),
        **(_marks("--held-out-", held_out, other) if held_out and other else {}),
        "weights to begin with": mark("", weights.to_table()),
        "version of Toledo": version("toledo-mt"),
    }
    tell_if_new(work, resume)
    checkpoint = Checkpoint(work / f"seed-{choices.seed}", configuration, resume)
    judge = Judging(model, models, other, choices.seed, threads) if other else None
    if choices.objective == "pro":
        ranked = Judging(model, models, documents, choices.seed, threads)
        found = tune_by_ranking(
            choices.pro, weights, model.with_weights(weights), documents, models, judge=ranked, held_out=judge,
            checkpoint=checkpoint, threads=threads, progress=progress,
        )  # fmt: skip
        best = found.history.best
        return Tuned(found.weights, model, found.history, range(best, best + 1), best=True)
    chains = Chains(model, documents, models, choices.chains)
    settings = TrainingSettings(UNTIL_COLD if choices.annealing else choices.rounds, choices.seed, threads)
    settings = replace(settings, best=judge is not None, last=max(choices.rounds // 2, 1))
    found = train_documents(
        choices.trainer, weights, chains, settings, judge=judge, checkpoint=checkpoint, progress=progress
    )
    rounds = settings.final(found.history)
    tuned = Tuned(found.weights, model, found.history, rounds, settings.best)
    if not choices.match_length or "word.penalty" in found.weights.frozen:
        return tuned
    own = Judging(model, models, documents, choices.seed, threads)
    return replace(tuned, weights=match_length(own.statistics, found.weights), matched=True)


@dataclass(frozen=True)
class Judging:
    """BLEU of what hill climbing from beam search finds for documents."""

    model: Model
    models: Sequence[DocumentModel]
    documents: Sequence[Document]
    seed: int
    threads: int

    def __call__(self, weights: Weights) -> float:
        """With some weights."""
        return BLEU(smooth_method="none").score(self.statistics(weights))

    def statistics(self, weights: Weights) -> NDArray[np.float64]:
        """Those of BLEU, of all documents."""
        own = self.model.with_weights(Weights({**weights, BLEUModel.name: 0.0}))
        settings = DocumentSettings(HillClimbing(), steps=JUDGING_STEPS, seed=self.seed)
        search = DocumentSearch(own, settings, (*self.models, BLEUModel()))
        rows = [result.best.bleu for result in search.search(self.documents, threads=self.threads)]
        total: NDArray[np.float64] = np.sum([row for row in rows if row is not None], axis=0).astype(np.float64)
        return total


def _start(choices: Choices, model: Model) -> Weights:
    """Where to begin; gradients begin with a sharper distribution, ranking where it is told to."""
    sparse = model.sparse.names if model.sparse else ()
    added = {feature_name(name): value for name, value in choices.models.items()}
    weights = Start(choices.initial, None).weights(
        model.feature_names, model.weights, lambda some: replace(some, values_by_name={**added, **some}), sparse
    )
    if choices.frozen is not None:
        weights = replace(weights, frozen=Start("model", choices.frozen).weights((), weights).frozen)
    if choices.objective == "pro":
        return weights
    values = {
        name: value if name in weights.frozen or name in added else choices.sharper * value
        for name, value in weights.items()
    }
    return replace(weights, values_by_name=values, bounds={})


def _marks(prefix: str, files: Files, documents: Sequence[Document]) -> dict[str, Marks]:
    """Of the texts, by the options that name them."""
    source, references, identifiers = files
    segments = [part for document in documents for part in document.segments]
    return {
        f"{prefix}source": mark(source, [part.words for part in segments]),
        f"{prefix}docids": mark(identifiers or source, [[one.identifier, len(one.segments)] for one in documents]),
        f"{prefix}reference": mark(", ".join(references), [part.references for part in segments]),
    }


def _documents(files: Files) -> list[Document]:
    found = list(read_documents(files[0], files[1], files[2]).documents)
    if not any(word for document in found for part in document.segments for text in part.references for word in text):
        raise InputError("each segment has an empty reference", remedy="give the references of these very segments")
    return found
