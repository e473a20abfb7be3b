"""COMET (Rei et al. 2020) and CometKiwi (Rei et al. 2022), by checkpoints in local directories.

Nothing is downloaded: the configuration and the tokenizer of the encoder must be in the cache of Hugging Face, where
COMET's own `download_model` and first use put them. Scores are those of COMET, times 100.

A checkpoint with references encodes source, translation and reference apart: each text is encoded once, and a small
network compares the vectors. One without references may encode source and translation together.
"""

from __future__ import annotations

import pickle  # for the name of an error
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from toledo.errors import InputError, MissingExtraError
from toledo.metrics.metric import Triple, require_inputs
from toledo.metrics.utility import PairMetric
from toledo.metrics.vectors import Rows, VectorMetric, Vectors, batches_by_length, device_or_best, model_name
from toledo.settings import Meta, Settings

DOWNLOAD = 'download one once, comet.download_model("Unbabel/wmt22-comet-da"), and name the path that it returns'
Model = Annotated[str | Path, Meta(description="Directory of a checkpoint, or its file.")]
Device = Annotated[str | None, Meta(description="Device of PyTorch; by default cuda, else cpu.")]
BatchSize = Annotated[int, Meta(ge=1, description="Number of texts that are encoded at a time.")]


@dataclass(frozen=True)
class COMET(Settings, VectorMetric):
    """COMET of a checkpoint with references and sources, times 100."""

    model: Model
    device: Device = None
    batch_size: BatchSize = 64

    needs = frozenset({"references", "sources"})

    def __post_init__(self) -> None:
        super().__post_init__()
        checkpoint_file(self.model)

    @property
    def name(self) -> str:
        """COMET and the name of the checkpoint."""
        return f"COMET:{model_name(checkpoint_file(self.model).parents[1])}"

    @cached_property
    def _model(self) -> Any:
        return load_checkpoint(self.model, self.device, ("regression_metric",))

    def encode_texts(self, texts: Sequence[str]) -> Vectors:
        """Return the sentence embedding of each text."""
        model, rows = self._model, np.zeros((len(texts), self._model.encoder.output_units), np.float32)
        import torch  # the model is loaded first, so that a missing package is said

        for places in batches_by_length(texts, self.batch_size):
            given = model.encoder.prepare_sample([texts[place] for place in places])
            with torch.inference_mode():
                found = model.get_sentence_embedding(*(given[key].to(model.device) for key in INPUTS))
                rows[places] = found.float().cpu().numpy()
        return rows

    def score_vectors(self, hypotheses: Vectors, references: Vectors, sources: Vectors | None = None) -> Rows:
        """Return the scores of rows of sentence embeddings."""
        import torch

        with torch.inference_mode():
            said, meant, source = (
                torch.tensor(np.asarray(one), device=self._model.device) for one in (hypotheses, references, sources)
            )
            scores = self._model.estimate(source, said, meant).score
        return np.asarray(100.0 * scores.double().cpu().numpy(), np.float64)


@dataclass(frozen=True)
class COMETKiwi(Settings, PairMetric):
    """A checkpoint of COMET that needs no references, such as CometKiwi, times 100."""

    model: Model
    device: Device = None
    batch_size: BatchSize = 64

    needs = frozenset({"sources"})

    def __post_init__(self) -> None:
        super().__post_init__()
        checkpoint_file(self.model)

    @property
    def name(self) -> str:
        """COMETKiwi and the name of the checkpoint."""
        return f"COMETKiwi:{model_name(checkpoint_file(self.model).parents[1])}"

    @cached_property
    def _model(self) -> Any:
        return load_checkpoint(self.model, self.device, WITHOUT_REFERENCES)

    def pair_scores(self, triples: Sequence[Triple]) -> Rows:
        """Return the score of each hypothesis with its source; equal ones are compared once."""
        model, device = self._model, self._model.device
        import torch
        from lightning_utilities.core.apply_func import apply_to_collection

        pairs = list(dict.fromkeys((said, source) for said, _, source in triples))
        require_inputs(self, True, None if any(source is None for _, source in pairs) else pairs)
        found = dict.fromkeys(pairs, 0.0)
        for places in batches_by_length([said for said, _ in pairs], self.batch_size):
            rows = [{"mt": pairs[place][0], "src": pairs[place][1]} for place in places]
            given = apply_to_collection(
                model.prepare_sample(rows, stage="predict"), torch.Tensor, torch.Tensor.to, device
            )
            with torch.inference_mode():
                scores = model.predict_step(given).scores
            found.update(zip((pairs[place] for place in places), scores.double().cpu().tolist(), strict=True))
        return np.array([100.0 * found[said, source] for said, _, source in triples])


INPUTS = "input_ids", "attention_mask"
WITHOUT_REFERENCES = "referenceless_regression_metric", "unified_metric", "xcomet_metric"


def checkpoint_file(given: str | Path) -> Path:
    """Return the checkpoint of a directory with `hparams.yaml` and `checkpoints`, or the file itself."""
    path = Path(given).expanduser()
    if path.is_dir():
        found = sorted((path / "checkpoints").glob("*.ckpt"))
        if len(found) != 1:
            raise InputError(
                f"there are {len(found)} checkpoints in checkpoints/", file=path, remedy="name one of them"
            )
        path = found[0]
    if not path.is_file():
        raise InputError(f"there is no checkpoint {str(path)!r}", argument="metric", remedy=DOWNLOAD)
    if not (path.absolute().parents[1] / "hparams.yaml").is_file():
        raise InputError("hparams.yaml must stand beside the directory of the checkpoint", file=path, remedy=DOWNLOAD)
    return path.absolute()


def load_checkpoint(given: str | Path, device: str | None, kinds: Sequence[str]) -> Any:
    """Load a checkpoint of one of some kinds by COMET itself, without pickled code and without downloads."""
    try:
        import yaml
        from comet import load_from_checkpoint
    except ImportError as error:
        remedy = 'pip install "toledo-mt[comet]", in an environment with Python 3.11 or 3.12: COMET needs numpy<2'
        if "pkg_resources" in str(error):
            remedy = 'pip install "setuptools<81", which an old package that COMET needs imports'
        raise MissingExtraError(f"COMET cannot be imported: {error}", remedy=remedy) from error
    file = checkpoint_file(given)
    settings = yaml.safe_load((file.parents[1] / "hparams.yaml").read_text("utf-8"))
    kind, encoder = settings.get("class_identifier"), settings.get("pretrained_model")
    if kind not in kinds:
        remedy = "use metric 'cometkiwi'" if kind in WITHOUT_REFERENCES else "use metric 'comet', or a function"
        raise InputError(f"the checkpoint is a {kind}, not a {' or '.join(kinds)}", file=file, remedy=remedy)
    try:
        model = load_from_checkpoint(str(file), local_files_only=True)
    except pickle.UnpicklingError as error:
        remedy = "take a checkpoint that PyTorch can load with weights_only=True"
        raise InputError(f"the checkpoint has more than weights: {error}", file=file, remedy=remedy) from None
    except OSError as error:
        remedy = f'download its encoder once, huggingface_hub.snapshot_download("{encoder}")'
        raise InputError(f"the encoder {encoder!r} is not on this machine: {error}", file=file, remedy=remedy) from None
    return model.eval().to(device_or_best(device))
