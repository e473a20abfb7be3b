"""`toledo.serve`: answer requests over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import uvicorn

from toledo.api.model import Model, load
from toledo.serve.app import make_app
from toledo.serve.engine import Engine
from toledo.serve.settings import ServerLimits

Models = str | Path | Model | Sequence[str | Path | Model] | Mapping[str, str | Path | Model]


def serve(
    models: Models = (), *, host: str = "127.0.0.1", port: int = 8080, limits: ServerLimits | None = None
) -> None:
    """Answer requests over HTTP until Ctrl-C."""
    given = [models] if isinstance(models, str | Path | Model) else list(models)
    loaded = [one if isinstance(one, Model) else load(one) for one in given]
    engine = Engine({one.name: one for one in loaded}, limits=limits or ServerLimits())
    uvicorn.run(make_app(engine), host=host, port=port)
