"""Small neural models on disk, with random weights: what tests of COMET and of embeddings load."""

from __future__ import annotations

import socket
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

needs_comet = pytest.mark.skipif(find_spec("comet") is None, reason="unbabel-comet is not installed")
needs_transformers = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>",
           "cls_token": "<s>", "sep_token": "</s>"}  # fmt: skip
LETTERS = "▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZäöüß.,!?'-0123456789"


def refuse_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_arguments: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


def save_encoder(directory: Path) -> Path:
    """Write an XLM-R of two layers whose tokens are letters."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

    torch.manual_seed(1)
    vocabulary = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *((one, -3.0) for one in LETTERS)]
    tokenizer = Tokenizer(models.Unigram([*vocabulary, ("<mask>", 0.0)], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)]
    )
    XLMRobertaTokenizerFast(tokenizer_object=tokenizer, model_max_length=128, **SPECIAL).save_pretrained(directory)
    settings = XLMRobertaConfig(vocab_size=len(vocabulary) + 1, max_position_embeddings=130, pad_token_id=1, **SIZES)
    XLMRobertaModel(settings).save_pretrained(directory)
    return directory


def save_checkpoint(directory: Path, kind: str = "regression_metric") -> Path:
    """Write a checkpoint as COMET writes it; its encoder is a local directory, too."""
    import pytorch_lightning
    import torch
    import yaml
    from comet.models import str2model

    encoder = save_encoder(directory / "encoder")
    torch.manual_seed(2)
    given: dict[str, Any] = {"pretrained_model": str(encoder), "hidden_sizes": [24, 12], "layer_norm": False}
    if kind == "unified_metric":
        given |= {"input_segments": ["mt", "src"], "word_level_training": False}
    model = str2model[kind](load_pretrained_weights=False, local_files_only=True, **given)
    trainer = pytorch_lightning.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    trainer.strategy.connect(model)
    trainer.save_checkpoint(directory / "checkpoints" / "model.ckpt")
    (directory / "hparams.yaml").write_text(yaml.safe_dump({**given, "class_identifier": kind}), encoding="utf-8")
    return directory


def import_quietly(name: str) -> Any:
    """Import a package that warns when it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return __import__(name)
