"""`toledo serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.cli.options import COMMON, Common, command
from toledo.serve.settings import ServerLimits


@command
def serve(
    *models: Annotated[Path, Parameter(help="Model directories.")],
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Parameter(help="Port to listen on.")] = 8080,
    limits: ServerLimits,
    common: Common = COMMON,
) -> None:
    """Answer requests over HTTP: a page to look inside, a JSON API, and Moses' XML-RPC.

    **Examples**

        toledo serve model
    """
    from toledo.serve.server import serve

    serve(models, host=host, port=port, limits=limits)
