"""Options that commands share, and settings classes as groups of options."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

from cyclopts import Group, Parameter

from toledo.errors import InputError
from toledo.settings import Settings, describe

GENERAL = Group("General", sort_key=1000)
SETS = {"dev": "development set", "test": "test set"}
F = TypeVar("F", bound=Callable[..., Any])


def held_out_pair(name: str, source: Path | None, references: tuple[Path, ...]) -> tuple[Path, list[Path]] | None:
    """Return source and references of a set with options --NAME-source and --NAME-reference, or None without both."""
    if source is None and not references:
        return None
    if source is None or not references:
        remedy = f"give both --{name}-source and --{name}-reference"
        raise InputError(f"the {SETS[name]} is incomplete", remedy=remedy)
    return source, list(references)


def flag(help_text: str, *names: str) -> Parameter:
    """Return an option that is either given or not."""
    return Parameter(name=names or None, help=help_text, negative="", show_default=False)


def repeated(help_text: str, *names: str) -> Parameter:
    """Return an option that may be given several times."""
    return Parameter(alias=names or None, help=f"{help_text} May be repeated.", negative="", show_default=False)


@Parameter(name="*", group=GENERAL)
@dataclass(frozen=True)
class Common:
    """Options of every command."""

    json: Annotated[bool, flag("Print the result as JSON.")] = False
    config: Annotated[Path | None, Parameter(help="TOML file with a table of options for each command.")] = None
    print_config: Annotated[bool, flag("Print the options of this run as TOML and exit.")] = False
    quiet: Annotated[bool, flag("Print errors only.", "--quiet", "-q")] = False
    verbose: Annotated[bool, flag("Print times, settings, and tracebacks of errors.", "--verbose", "-v")] = False


COMMON = Common()

# A file of texts or results; - is standard input or output.
Source = Annotated[Path, Parameter(alias="-s", help="Source text, one segment per line.")]
Target = Annotated[Path, Parameter(alias="-t", help="Target text, parallel to the source.")]
References = Annotated[tuple[Path, ...], repeated("Reference translation.", "-r")]
Output = Annotated[str, Parameter(alias="-o", help="File to write; - is standard output.")]
OutputDirectory = Annotated[Path, Parameter(alias="-o", help="Directory to write; an earlier result is replaced.")]
Metric = Annotated[str, Parameter(alias="-m", help="Metric, as NAME or NAME:key=value,… (see `toledo list metrics`).")]
Rule = Annotated[str, Parameter(help="Decision rule, as NAME or NAME:key=value,… (see `toledo list rules`).")]
Search = Annotated[str, Parameter(help="Search, as NAME or NAME:key=value,… (see `toledo list searches`).")]
Scale = Annotated[float | None, Parameter(help="Factor applied to scores before they become probabilities.")]
Threads = Annotated[int | None, Parameter(help="Number of threads; the result does not depend on it.", group=GENERAL)]
Tokenized = Annotated[bool, flag("The texts are tokenized: words are separated by spaces.")]
LanguageModels = Annotated[
    tuple[Path, ...], repeated("Language model to use: ARPA file, or directory of a language model or a model.", "--lm")
]
PhraseTables = Annotated[
    tuple[Path, ...], repeated("Phrase table to add: a file of Moses, or the directory of a model.")
]
InterpolateOn = Annotated[
    tuple[Path, Path] | None,
    Parameter(
        negative="", help="Tuning text and its translation, to find the weights of tables with --combine-tables linear."
    ),
]
Seed = Annotated[int, Parameter(help="Random seed.", group=GENERAL)]
Resume = Annotated[bool, flag("Continue an interrupted run of the same command.")]

SHORT = {"language": "-l"}  # of fields of settings classes

RENAMED = {  # options of version 0.1 and their names now
    "--decide": "--rule",
    "--gain": "--metric",
    "--evidence": "--reference",
    "--evidence-n": "--num-references",
    "--n": "--num-samples",
    "--choose-scale": "the command toledo tune-rule",
    "--scales": "--scale of toledo tune-rule",
    "--hypotheses": "--rule mbr:size=N",
    "--decide-density": "--rule consensus:density=N",
    "--precision": "--rule lattice-mbr:precision=…",
    "--pop-limit": "--search beam:pop_limit=N",
    "--chains": "--search gibbs:chains=N",
    "--burn-in": "--search gibbs:burn_in=N",
    "--n-best": "--write-nbest",
    "--n-best-size": "--nbest",
    "--n-best-lists": "--lists",
    "--metrics": "--metric, once for each metric",
    "--samples": "--resamples or --num-samples",
    "--held-out-source": "--dev-source",
    "--held-out-reference": "--dev-reference",
    "--validate-source": "--dev-source",
    "--validate-reference": "--dev-reference",
    "--seeds": "--runs",
    "--method": "--objective",
    "--work": "--output",
    "--output-model": "--output",
    "--sparse": "--feature",
    "--search-steps": "--steps",
    "--sharper": "--initial-factor",
    "--segmentation": "--start FILE",
    "--last": "--keep last",
    "--docids": "--document-ids",
    "--tokenised": "--tokenized",
    "--tokenise": "--tokenize",
    "--symmetrise": "--symmetrize",
    "--optimiser": "--objective NAME:optimizer=…",
    "--temperature": "--accept sampling:temperature=…",
    "--schedule": "--accept annealing:schedule=[…]",
    "--force": "--score-target",
    "--utility": "--level",
    "--forest": "--write-forest",
    "--lattice": "--write-lattice",
    "--alignments": "--alignment or --write-alignment",
    "--trace": "--write-trace",
    "--report": "--write-report",
    "--plot": "--write-plot",
}


def command(function: F) -> F:
    """Make a function a command: each parameter that is a settings class becomes a group of options.

    Help texts and defaults of the options are those of the settings class, which also checks their ranges.
    """
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if inspect.isclass(hint) and issubclass(hint, Settings)}
    if not groups:
        return function
    options = {name: _as_options(settings) for name, settings in groups.items()}

    @functools.wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        for name, settings in groups.items():
            given = named.get(name)
            values = {} if given is None else {one.name: getattr(given, one.name) for one in fields(given)}
            named[name] = settings(**values)
        return function(*arguments, **named)

    signature = inspect.signature(function)
    changed = [
        one.replace(annotation=options[one.name], default=options[one.name]()) if one.name in options else one
        for one in signature.parameters.values()
    ]
    run.__signature__ = signature.replace(parameters=changed)  # type: ignore[attr-defined]
    run.__annotations__ = {**hints, **options}
    del run.__wrapped__
    return run  # type: ignore[return-value]


def _as_options(settings: type[Settings]) -> type:
    """Return a dataclass with the fields of a settings class, annotated for the command line."""
    described, columns = describe(settings), []
    for one in fields(settings):  # type: ignore[arg-type]
        hint, _, help_text = described[one.name]
        default = field(default=one.default)
        if one.default is MISSING:
            default = field(default_factory=one.default_factory)
        notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Parameter)]
        option = repeated(help_text) if isinstance(one.default, tuple) else Parameter(help=help_text)
        names = Parameter(name=option_name(one.name, one.default), alias=SHORT.get(one.name))
        negative = Parameter(negative=None if notes else "")
        columns.append((one.name, Annotated[hint, option, names, negative, *notes], default))
    made = make_dataclass(f"{settings.__name__}Options", columns, frozen=True)
    made.__module__ = __name__  # Cyclopts does not look into classes of the standard library
    return Parameter(name="*")(made)


def option_name(name: str, default: object) -> str:
    """Return the option for a field: one that may be given several times has its name in the singular."""
    return f"--{name.removesuffix('s') if isinstance(default, tuple) else name}".replace("_", "-")


def option_names(command: Callable[..., Any]) -> dict[str, str]:
    """Return the option for each argument that the library may name in a message about this command."""
    names: dict[str, str] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = type(parameter.default)
        own = {part.name: part.default for part in fields(kind)} if is_dataclass(kind) else {name: None}
        for one, default in own.items():
            option = one.upper() if parameter.kind is parameter.VAR_POSITIONAL else option_name(one, default)
            names |= {one: option, f"{one}s": option}
    return names


def arguments_to_options(text: str, names: Mapping[str, str]) -> str:
    """Return a message in which arguments in backticks are options: `max_length=80` becomes --max-length 80."""

    def replaced(match: re.Match[str]) -> str:
        option = names.get(match[1])
        return match[0] if option is None else f"{option} {match[2] or ''}".removesuffix(" True").strip()

    return re.sub(r"`([a-z]+(?:_[a-z]+)*)(?:=([^`]*))?`", replaced, text)
