"""The reference of the Python API, docs/api/*.md, from signatures and docstrings.

    python docs/make_api.py

What is public: the names in `__all__` of a package; of a single module the functions and classes without an underscore
that are defined in it, compiled ones apart. The source is read, never imported.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "api"
COMPILED = {"kernel", "inner_kernel", "inlined"}
LONGEST = 100  # characters of a signature in one line

PAGES = {  # name of the page: its title, and modules with a blank between them
    "model": (
        "Texts, models, training",
        "text.corpus text.vocabulary weights model training text.tokens sample.corpus errors progress",
    ),
    "metrics": ("Metrics and significance", "metrics metrics.evaluation metrics.significance"),
    "language-model": ("Language models", "language_model"),
    "phrases": (
        "Word alignment and phrase tables",
        "phrases.word_alignment phrases.table phrases.training phrases.filtering phrases.lexicon phrases.sparse",
    ),
    "forest": ("Forests", "forest"),
    "search": ("Searches", "search.beam search.beam.forced search.itg search.gibbs search.document search.steps"),
    "consensus": ("Decision rules", "consensus"),
    "objectives": ("Objectives", "objectives"),
    "tuning": (
        "Tuning",
        "tuning.loop tuning.tuner tuning.examples tuning.mert tuning.pro tuning.mira tuning.mmi tuning.regression "
        "tuning.simplex tuning.gradient tuning.annealing runs.history runs.checkpoint runs.rounds tuning.minimum_risk "
        "tuning.documents",
    ),
    "combination": ("System combination", "combination"),
    "refinement": ("Refining", "refinement"),
    "formats": (
        "Formats",
        "formats.nbest formats.jsonl formats.hypotheses formats.outputs formats.plf formats.slf formats.hypergraph "
        "formats.forests language_model.arpa formats.pharaoh formats.moses_table formats.moses_reordering "
        "formats.moses_ini formats.moses_model formats.moses_lexicon formats.documents formats.docent_model",
    ),
}
INTRODUCTION = """# Python API

Everything that the command line does is a function. These pages are made from the docstrings by `make docs`; the pages
of [tasks](../index.md) have examples.

| page | modules |
|---|---|"""

Definition = ast.FunctionDef | ast.ClassDef


def main() -> None:
    """Write all pages."""
    TARGET.mkdir(exist_ok=True)
    for name, text in pages().items():
        (TARGET / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """File names and texts."""
    texts = {f"{name}.md": page(title, modules.split()) for name, (title, modules) in PAGES.items()}
    return {"index.md": index(), **texts}


def index() -> str:
    """The page that leads to the others."""
    rows = [
        f"| [{title}]({name}.md) | {', '.join(f'`toledo.{module}`' for module in modules.split())} |"
        for name, (title, modules) in PAGES.items()
    ]
    return "\n".join([INTRODUCTION, *rows, ""])


def page(title: str, modules: list[str]) -> str:
    """All names of some modules."""
    parts = [f"# {title}", "", "Made from the docstrings by `make docs`. [All pages](index.md)", ""]
    for module in modules:
        parts += [f"## `toledo.{module}`", "", *described(documentation(parsed(module))), ""]
        for name, found in public(module):
            parts += [f"### `{name}`", "", *entry(name, found), ""]
    return "\n".join(parts).rstrip() + "\n"


def parsed(module: str) -> ast.Module:
    """The source of `toledo.MODULE`."""
    path = ROOT / "toledo" / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def public(module: str) -> Iterator[tuple[str, Definition]]:
    """Public functions and classes with their names, in alphabetical order of `__all__` or that of the source."""
    tree = parsed(module)
    names = exported(tree)
    if names is None:
        for found in definitions(tree).values():
            if not found.name.startswith("_") and not COMPILED & decorators(found):
                yield found.name, found
        return
    for name in names:
        if (definition := resolve(tree, name)) is not None:
            yield name, definition


def exported(tree: ast.Module) -> list[str] | None:
    """What `__all__` lists."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return None


def resolve(tree: ast.Module, name: str) -> Definition | None:
    """The definition of a name, here or where it is imported from; None for constants and types."""
    if name in (own := definitions(tree)):
        return own[name]
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and name in {one.asname or one.name for one in statement.names}:
            return resolve(parsed((statement.module or "").removeprefix("toledo.")), name)
    return None


def definitions(tree: ast.Module) -> dict[str, Definition]:
    """Functions and classes of a module."""
    return {one.name: one for one in tree.body if isinstance(one, Definition)}


def entry(name: str, found: Definition) -> list[str]:
    """Signature and docstring; fields and methods of a class."""
    if isinstance(found, ast.FunctionDef):
        return [*code(signature(found)), "", *described(documentation(found))]
    bases = ", ".join(ast.unparse(base) for base in found.bases)
    lines = code("\n    ".join([f"class {name}({bases}):" if bases else f"class {name}:", *fields_of(found)]))
    lines += ["", *described(documentation(found))]
    methods = [*methods_of(found)]
    return [*lines, "", *methods] if methods else lines


def fields_of(found: ast.ClassDef) -> Iterator[str]:
    """Fields of a dataclass, a named tuple or a protocol."""
    for one in found.body:
        if isinstance(one, ast.AnnAssign) and not (text := ast.unparse(one)).startswith("_"):
            yield text


def methods_of(found: ast.ClassDef) -> Iterator[str]:
    """Public methods and what they are for, an item of a list each."""
    for one in found.body:
        if not isinstance(one, ast.FunctionDef) or (one.name.startswith("_") and one.name != "__init__"):
            continue
        kinds = decorators(one)
        if one.name == "__init__":
            yield f"- `{signature(one, found.name, bound=True)}`"
            continue
        if kinds & {"property", "cached_property"}:
            shown = f"{one.name}{result(one)}"
        else:
            shown = signature(one, bound="staticmethod" not in kinds)
        purpose = documentation(one).split("\n\n")[0].replace("\n", " ")
        yield f"- `{shown}`: {escape(purpose)}" if purpose else f"- `{shown}`"


def signature(found: ast.FunctionDef, name: str = "", *, bound: bool = False) -> str:
    """As in the source, without the first argument if it is bound."""
    listed = [*arguments(found.args)][bound:]
    return f"{name or found.name}({', '.join(listed)}){'' if name else result(found)}"


def arguments(given: ast.arguments) -> Iterator[str]:
    """Each argument with its type and default."""
    places = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(places) - len(given.defaults)) + given.defaults
    yield from map(argument, places, defaults)
    if given.vararg:
        yield f"*{argument(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    yield from map(argument, given.kwonlyargs, given.kw_defaults)
    if given.kwarg:
        yield f"**{argument(given.kwarg, None)}"


def argument(given: ast.arg, default: ast.expr | None) -> str:
    """Set as in the source."""
    text = f"{given.arg}: {ast.unparse(given.annotation)}" if given.annotation else given.arg
    if default is None:
        return text
    return f"{text} = {ast.unparse(default)}" if given.annotation else f"{text}={ast.unparse(default)}"


def result(found: ast.FunctionDef) -> str:
    """What comes back."""
    return f" → {ast.unparse(found.returns)}" if found.returns else ""


def decorators(found: Definition) -> set[str]:
    """Their names, without arguments."""
    return {ast.unparse(one).split("(")[0].split(".")[-1] for one in found.decorator_list}


def documentation(found: ast.Module | Definition) -> str:
    """The docstring."""
    return inspect.cleandoc(ast.get_docstring(found, clean=False) or "")


def described(text: str) -> list[str]:
    """Paragraphs as they are; blocks of code and formulas, which are indented or look like code, in fences."""
    lines: list[str] = []
    for part in text.split("\n\n"):
        if all(line.startswith("    ") for line in part.splitlines()) or looks_like_code(part):
            lines += code(inspect.cleandoc(part) if part.startswith("    ") else part)
        else:
            lines += [escape(line) for line in part.splitlines()]
        lines.append("")
    return lines[:-1]


def looks_like_code(part: str) -> bool:
    """Calls without a sentence around them, as in the examples of packages."""
    first = part.splitlines()[0]
    return bool(re.match(r"[\w.]+ = |[\w.]+\(.*\)|for \w+ in ", first)) and not first.endswith(".")


def code(text: str) -> list[str]:
    """In a fence; long signatures have an argument on each line."""
    if "\n" not in text and len(text) > LONGEST and "(" in text:
        text = broken(text)
    return ["```python", text, "```"]


def broken(text: str) -> str:
    """One argument on each line: cut at commas that are in no inner bracket."""
    begin = text.index("(")
    depth, parts, last = 0, [], begin + 1
    for place in range(begin, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            break
        if text[place] == "," and depth == 1:
            parts.append(text[last:place].strip())
            last = place + 1
    parts.append(text[last:place].strip())
    return "\n".join([text[: begin + 1], *(f"    {part}," for part in parts), text[place:]])


def escape(text: str) -> str:
    """Signs that Markdown would take for its own."""
    return re.sub(r"(?<![`\w])\*(?=\w)|<(?=\w)", lambda found: "\\" + found[0], text)


if __name__ == "__main__":
    main()
