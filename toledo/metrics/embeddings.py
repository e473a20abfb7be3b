"""Cosine similarity of sentence embeddings, by any model in a local directory or any function of texts.

Nothing is downloaded. Vectors have length 1, so that the similarity is linear in the vector of a reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from toledo.errors import InputError, MissingExtraError
from toledo.metrics.vectors import Rows, VectorMetric, Vectors, batches_by_length, device_or_best, model_name
from toledo.settings import Meta, Settings

DOWNLOAD = 'download one once, huggingface_hub.snapshot_download("NAME", local_dir="DIRECTORY"), and name its directory'
Encode = Callable[[list[str]], Any]


@dataclass(frozen=True)
class Embeddings(Settings, VectorMetric):
    """100 times the cosine of sentence embeddings; `model` is a directory, or a function from texts to rows."""

    model: Annotated[str | Path | Encode, Meta(description="Directory of an embedding model, or a function.")]
    device: Annotated[str | None, Meta(description="Device of PyTorch; by default cuda, else cpu.")] = None
    batch_size: Annotated[int, Meta(ge=1, description="Number of texts that are encoded at a time.")] = 64

    linear = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.model):
            _kind(self._directory)

    @property
    def name(self) -> str:
        """The name of the model or function."""
        if callable(self.model):
            return f"embeddings:{getattr(self.model, '__name__', type(self.model).__name__)}"
        return f"embeddings:{model_name(self._directory)}"

    def encode_texts(self, texts: Sequence[str]) -> Rows:
        """Return one row of length 1 for each text; 0 stays 0."""
        rows = np.asarray(self._encode(list(texts)), np.float64)
        lengths = np.sqrt(np.einsum("...j,...j->...", rows, rows))[..., None]
        return rows / np.where(lengths > 0.0, lengths, 1.0)

    def score_vectors(self, hypotheses: Vectors, references: Vectors, sources: Vectors | None = None) -> Rows:
        """Return 100 times the product of each row of hypotheses with the same row of references."""
        return np.asarray(100.0 * np.einsum("ij,ij->i", hypotheses, references), np.float64)

    @property
    def _directory(self) -> Path:
        return Path(str(self.model)).expanduser()

    @cached_property
    def _encode(self) -> Encode:
        if callable(self.model):
            return self.model
        package, load = LOADERS[_kind(self._directory)]
        try:
            import_module(package)
        except ImportError as error:
            raise MissingExtraError(
                f"the model in {self._directory} needs {package.replace('_', '-')}: {error}",
                remedy='pip install "toledo-mt[embeddings]"',
            ) from error
        return load(str(self._directory), self.device, self.batch_size)


def _kind(directory: Path) -> str:
    """Return what wrote a directory."""
    if not directory.is_dir():
        raise InputError(f"there is no directory {str(directory)!r} with a model", argument="metric", remedy=DOWNLOAD)
    configuration = directory / "config.json"
    try:
        known = json.loads(configuration.read_text("utf-8")) if configuration.is_file() else {}
    except ValueError as error:
        raise InputError(f"not valid JSON: {error}", file=configuration, remedy=DOWNLOAD) from None
    if not isinstance(known, dict):
        raise InputError("not a table of settings", file=configuration, remedy=DOWNLOAD)
    if known.get("model_type") == "model2vec":
        return "model2vec"
    if (directory / "modules.json").is_file():
        return "sentence-transformers"
    if "model_type" in known:
        return "transformers"
    raise InputError("no embedding model: neither modules.json nor config.json", file=directory, remedy=DOWNLOAD)


def _sentence_transformers(directory: str, device: str | None, batch_size: int) -> Encode:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(directory, device=device_or_best(device), local_files_only=True)
    return lambda texts: model.encode(texts, batch_size=batch_size, show_progress_bar=False)


def _transformers(directory: str, device: str | None, batch_size: int) -> Encode:
    """Return an encoder that takes the mean of the vectors of the tokens."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    place = device_or_best(device)
    tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    model = AutoModel.from_pretrained(directory, local_files_only=True).eval().to(place)
    longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 514) - 2)

    def encode(texts: list[str]) -> Rows:
        rows = np.zeros((len(texts), model.config.hidden_size))
        for places in batches_by_length(texts, batch_size):
            some = [texts[one] for one in places]
            given = tokenizer(some, padding=True, truncation=True, max_length=longest, return_tensors="pt").to(place)
            with torch.inference_mode():
                states = model(**given).last_hidden_state
                mask = given["attention_mask"][:, :, None].to(states.dtype)
                rows[places] = ((states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1.0)).float().cpu().numpy()
        return rows

    return encode


def _model2vec(directory: str, device: str | None, batch_size: int) -> Encode:
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(directory)
    return lambda texts: model.encode(texts, batch_size=batch_size)


LOADERS: dict[str, tuple[str, Callable[[str, str | None, int], Encode]]] = {  # kind → package, loader
    "sentence-transformers": ("sentence_transformers", _sentence_transformers),
    "transformers": ("transformers", _transformers),
    "model2vec": ("model2vec", _model2vec),
}
