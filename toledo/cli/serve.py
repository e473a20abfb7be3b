"""`toledo serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.cli.options import COMMON, Common, Threads, command, flag, repeated
from toledo.errors import InputError
from toledo.serve.settings import ServerLimits


@command
def serve(
    *models: Annotated[Path, Parameter(help="Models: directories, moses.ini, or Docent's XML.")],
    demo: Annotated[bool, flag("Serve a small model, trained on the built-in sample.")] = False,
    host: Annotated[str, Parameter(help="Address to listen on. Beyond this machine, requests need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, Parameter(help="Port to listen on; 0 is any that is free.")] = 8080,
    hosts: Annotated[tuple[str, ...], repeated("Further name of this machine.", "--name")] = (),
    token_file: Annotated[Path | None, Parameter(help="File with the token; without it, one is made.")] = None,
    combination: Annotated[tuple[Path, ...], repeated("Directory of a tuned combination.")] = (),
    runs: Annotated[tuple[Path, ...], repeated("Directory with runs to show, such as tunings.")] = (),
    limits: ServerLimits,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Answer requests over HTTP: pages to look inside, a JSON API, and Moses' XML-RPC.

    The log has one line of JSON for each request, without its text. Ctrl-C ends the server; what runs may finish.

    **Examples**

        toledo serve --demo
        toledo serve model --port 8000
        toledo serve tuned mert --runs runs --combination combo
        toledo serve model --host 0.0.0.0 --name mt.example.org --token-file token
    """
    from toledo.serve.server import serve

    token = None
    if token_file is not None:
        token = token_file.read_text(encoding="utf-8").strip()
        if not token:
            raise InputError("there is no token", file=token_file, remedy="write one line of 16 characters or more")
    serve(
        models, host=host, port=port, combinations=combination, runs=runs, hosts=hosts, token=token, limits=limits,
        demo=demo, threads=threads,
    )  # fmt: skip
