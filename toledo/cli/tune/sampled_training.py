"""`toledo tune --search gibbs`: minimum-risk training by sampling, from options and files to runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.cli.translate.sampling import SamplingChoice
from toledo.cli.tune.runs import Task, Text, Texts, configuration_of, configuration_of_model
from toledo.cli.tune.start_weights import Start
from toledo.cli.tune.tuners import OF_LISTS, ObjectiveName, TunerOptions
from toledo.errors import InputError
from toledo.forest.forest import Forest
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.resumption import KIND
from toledo.tuning.loop import LoopSettings, TuningSet
from toledo.tuning.minimum_risk.trainer import COOLING, SamplingTrainer
from toledo.tuning.minimum_risk.training import SampledSet, train
from toledo.weights import Weights

SCALE = 1.0  # sharpness is learnt


def named_trainer(name: ObjectiveName, options: TunerOptions) -> SamplingTrainer:
    """The trainer for one of the two expected BLEUs; nothing else can be trained by samples."""
    if name not in OF_LISTS:
        listed = " or ".join(sorted(one.value for one in OF_LISTS))
        raise InputError(
            f"{name.value} does not work by samples", remedy=f"with --search gibbs give --objective {listed}"
        )
    given = options.given
    for key in ("on", "restarts"):
        if key in given:
            raise InputError(f"{name.value} has no option --{key} with samples", remedy="leave it out")
    if "optimizer" in given:
        raise InputError(
            "--optimiser: samples are noisy, so they have an optimiser of their own", remedy="leave --optimiser out"
        )
    if "annealing" in given:
        given["annealing"] = COOLING
    objective: Any = name.value
    return SamplingTrainer(objective, **given)


def sampled_task(
    model: Model,
    texts: Texts,
    trainer: SamplingTrainer,
    settings: LoopSettings,
    start: Start,
    sampling: SamplingChoice,
    progress: Progress,
) -> Task:
    """Train a model by samples."""
    text, held_out = texts
    sparse = model.sparse.names if model.sparse else ()
    weights = start.weights(model.feature_names, model.weights, sparse=sparse)
    how: dict[str, Any] = {"chains": sampling.chains, "iterations": sampling.iterations, "burn_in": sampling.burn_in}
    configuration = {
        **configuration_of_model(model, {KIND: "gibbs", **how}, texts),
        **configuration_of(trainer, settings, start, weights),
    }
    search = _Sampling(model, text, sampling, settings.threads)
    tuning = SampledSet(search.some, [segment.references for segment in text.segments], str(search))
    other = None
    if held_out is not None:
        whole = _Sampling(model, held_out, sampling, settings.threads, progress)
        other = TuningSet(whole.all, [segment.references for segment in held_out.segments], str(whole))
    return Task(partial(train, trainer, weights, tuning, held_out=other), settings, configuration)


@dataclass(frozen=True, eq=False)
class _Sampling:
    """A text that can be sampled; progress is shown where nobody else does."""

    model: Model
    text: Text
    choice: SamplingChoice
    threads: int | None
    progress: Progress = silent

    def __str__(self) -> str:
        return f"search gibbs, {self.choice.chains} × {self.choice.iterations} samples"

    def some(self, numbers: NDArray[np.int64], weights: Weights, seed: int) -> Sequence[Forest]:
        """Samples of some segments."""
        sentences = [self.text.segments[number].words for number in numbers]
        search = replace(self.choice, seed=seed).search(self.model.with_weights(weights), SCALE)
        return search.forests(sentences, self.threads, self.progress)

    def all(self, weights: Weights) -> Sequence[Forest]:
        """Samples of all segments, with the same random numbers for all weights."""
        return self.some(np.arange(len(self.text.segments)), weights, self.choice.seed)
