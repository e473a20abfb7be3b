"""The program: which commands there are, how one is run, and how it ends."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from cyclopts import App, CycloptsError, Group

import toledo
from toledo.cli import config, messages, signals
from toledo.cli.options import RENAMED, Common, arguments_to_options, option_names
from toledo.errors import InputError, RunError, ToledoError
from toledo.files import STANDARD_STREAM

# With several threads, sums of some 10,000 numbers depend on how many there are.
BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

HYPHEN = "\0"  # stands for a lone hyphen, which Cyclopts would take for an option

DONE, INTERNAL_ERROR, BAD_INPUT, FAILED = 0, 1, 2, 3  # exit codes; 130 and 143 after Ctrl-C and SIGTERM

REMEDIES = {
    errno.ENOSPC: "free some disk space, or write to another disk",
    errno.EACCES: "check the permissions",
    errno.EEXIST: "this is a file: name a directory",
}
OTHER_REMEDY = "check the path, its permissions, and the disk"

COMMANDS: dict[str, dict[str, Any]] = {
    "Work with outputs of any system": {
        "choose": "toledo.cli.choose:choose",
        "tune-votes": "toledo.cli.choose:tune_votes",
        "evaluate": "toledo.cli.evaluate:evaluate",
        "compare": "toledo.cli.evaluate:compare",
        "combine": {
            "tune": "toledo.cli.combine:tune",
            "run": "toledo.cli.combine:run",
            "show": "toledo.cli.combine:show",
        },
    },
    "Train and translate": {
        "build": "toledo.cli.build:build",
        "train": "toledo.cli.train:train",
        "tune": "toledo.cli.tune:tune",
        "tune-rule": "toledo.cli.tune:tune_rule",
        "refine": "toledo.cli.tune:refine",
        "rerank": "toledo.cli.tune:rerank",
        "translate": "toledo.cli.translate:translate",
        "document": {
            "translate": "toledo.cli.document:translate",
            "tune": "toledo.cli.document:tune",
            "oracle": "toledo.cli.document:oracle",
            "examples": "toledo.cli.document_examples:examples",
            "semantic-space": "toledo.cli.document:semantic_space",
        },
        "model": {"info": "toledo.cli.exchange:model_info", "add": "toledo.cli.exchange:add_to_model"},
        "import": "toledo.cli.exchange:import_model",
        "export": "toledo.cli.exchange:export_model",
    },
    "Components": {
        "align": "toledo.cli.train:align",
        "lm": {"train": "toledo.cli.lm:train", "score": "toledo.cli.lm:score", "mix": "toledo.cli.lm:mix"},
        "forest": {"show": "toledo.cli.forest:show", "convert": "toledo.cli.forest:convert"},
        "text": {
            "tokenize": "toledo.cli.text:tokenize",
            "detokenize": "toledo.cli.text:detokenize",
            "normalize": "toledo.cli.text:normalize",
            "lowercase": "toledo.cli.text:lowercase",
            "truecase": "toledo.cli.text:truecase",
            "detruecase": "toledo.cli.text:detruecase",
            "train-truecaser": "toledo.cli.text:train_truecaser",
            "escape": "toledo.cli.text:escape",
            "unescape": "toledo.cli.text:unescape",
            "words": "toledo.cli.text:words",
            "clean": "toledo.cli.text:clean",
        },
    },
    "Explore": {
        "serve": "toledo.cli.serve:serve",
        "report": "toledo.cli.report:report",
        "list": "toledo.cli.report:list_names",
        "example-data": "toledo.cli.report:example_data",
        "demo": "toledo.cli.demo:demo",
        "warm-up": "toledo.cli.report:warm_up",
    },
}
GROUP_HELP = {
    "combine": "Combine the outputs of several systems into one better output.",
    "document": "Translate whole documents with models that look beyond the sentence.",
    "model": "Look into a model, and add phrase tables and language models.",
    "lm": "Train, query and mix n-gram language models.",
    "forest": "Inspect and convert n-best lists, lattices and forests.",
    "text": "Prepare text: tokenize, normalize, truecase, clean.",
}


def make_app(tokens: Sequence[str] = ()) -> App:
    """Return the program with all commands; only the one that is run is imported, or all for an overview."""
    words = _command(tokens)[1:]
    app = App(
        name="toledo",
        help="Machine translation by expectation and consensus. See `toledo COMMAND --help` for examples.",
        version=lambda: f"toledo {toledo.__version__}",
        help_format="markdown" if words else "plaintext",  # to import a parser of Markdown takes time
    )
    for number, (title, commands) in enumerate(COMMANDS.items()):
        _add(app, commands, words, Group(title, sort_key=number))
    return app


def _add(app: App, commands: dict[str, Any], words: Sequence[str], group: Group | None = None) -> None:
    """Add commands, of which `words` chooses one; without words they are all imported, for their help texts."""
    for number, (name, target) in enumerate(commands.items()):
        if isinstance(target, str):
            module, _, function = target.partition(":")
            run = target if words else getattr(import_module(module), function)
            app.command(run, name=name, group=group, sort_key=number)
        else:
            part = App(name=name, help=GROUP_HELP[name], group=group, sort_key=number)
            _add(part, target, words[1:] if words[:1] == [name] else ["another"])
            app.command(part)


def main() -> NoReturn:
    """Run the command that the user typed."""
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # text in is UTF-8, so text out is, too
    signals.listen()
    for name in BLAS_THREADS:  # read when a command loads NumPy
        os.environ.setdefault(name, "1")
    try:
        sys.exit(run(sys.argv[1:]))
    except (KeyboardInterrupt, SystemExit) as end:
        signals.leave(end)


def run(tokens: Sequence[str]) -> int:
    """Run a command and return its exit code; errors are printed."""
    common, names = Common(json="--json" in tokens, verbose="--verbose" in tokens or "-v" in tokens), {}
    try:
        app = make_app(tokens)
        app.config = config.reader(tokens)
        words = [HYPHEN if token == STANDARD_STREAM else token for token in tokens] or ["--help"]
        command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        bound.arguments.update({name: _with_streams(value) for name, value in bound.arguments.items()})
        common, names = bound.arguments.get("common", common), option_names(command)
        messages.set_up(common, names)
        if common.print_config:
            print(config.to_toml(_command(tokens)[1:], bound), end="")
        else:
            command(*bound.args, **bound.kwargs)
    except CycloptsError as error:
        remedy = f"{' '.join(_command(tokens))} --help lists the options"
        return _fail(InputError(_explain(error), remedy=remedy), common)
    except ToledoError as error:
        return _fail(error, common, names)
    except BrokenPipeError:  # the reader (head, less) has gone: not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # a full disk, missing permissions
        remedy = REMEDIES.get(error.errno or 0, OTHER_REMEDY)
        return _fail(InputError(str(error.strerror or error), file=error.filename, remedy=remedy), common)
    return DONE


def _with_streams(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _with_streams(getattr(value, one.name)) for one in fields(value)})
    if isinstance(value, list | tuple):
        return type(value)(map(_with_streams, value))
    return type(value)(STANDARD_STREAM) if isinstance(value, str | Path) and str(value) == HYPHEN else value


def _command(tokens: Sequence[str]) -> list[str]:
    """Return the words before the first option or file, as far as they are a command."""
    words: list[str] = ["toledo"]
    known: Any = {name: target for commands in COMMANDS.values() for name, target in commands.items()}
    for token in tokens:
        if not isinstance(known, dict) or token not in known:
            break
        words.append(token)
        known = known[token]
    return words


def _explain(error: CycloptsError) -> str:
    text = str(error).strip().replace(HYPHEN, STANDARD_STREAM)
    for old, new in RENAMED.items():
        if f"{old}." in text or text.endswith(old):
            return f"there is no option {old}: it is {new} now"
    return text[:1].lower() + text[1:] if text else type(error).__name__


def _fail(error: ToledoError, common: Common, names: Mapping[str, str] = {}) -> int:
    """Print an error, with options in place of arguments, and return the exit code for it."""
    if common.verbose:
        traceback.print_exc()
    if common.json:
        content = {"type": type(error).__name__, "message": error.message, "remedy": error.remedy}
        place = {"file": getattr(error, "file", None), "line": getattr(error, "line", None)}
        print(json.dumps({"error": {**content, **place}}, ensure_ascii=False), file=sys.stderr)
    else:
        text = f"toledo: error: {arguments_to_options(str(error), names)}"
        messages.console().print(text, style="red", markup=False, highlight=False, soft_wrap=True)
    return FAILED if isinstance(error, RunError) else BAD_INPUT
