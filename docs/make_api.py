"""Write the reference of the Python API, docs/api/*.md, from signatures and docstrings.

    python docs/make_api.py

What is public is what `import toledo` gives: the table `_MODULES` of toledo/__init__.py. Sources are read, never
imported.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "toledo"
TARGET = ROOT / "docs" / "api"
LONGEST = 100  # characters of a signature on one line
COMMON = {"threads", "progress"}  # arguments that are described once for all
HIDDEN = {"require_output", "rows_as_dicts"}  # methods that the command line calls

PAGES = {  # page: its title, and modules or packages, of which the longest that fits decides
    "choosing": ("Choosing and evaluating", "api.choose api.evaluate api.inputs api.tune_rule consensus metrics"),
    "models": ("Training and translating", "api model refinement runs search training translation tuning weights"),
    "parts": ("Combining, aligning, language models", "api.align api.combination combination language_model phrases"),
    "files": (
        "Files and extending",
        "api.files api.forests api.names api.register api.registries "
        "api.report api.warm_up forest formats objectives view sample settings text",
    ),
    "results": (
        "Results and errors",
        "consensus.choice errors metrics.analysis metrics.evaluation metrics.score progress results",
    ),
    "other": ("Other names", ""),
}
INTRODUCTION = """# Python API

`import toledo` gives these names, each imported on first use. `make docs` writes these pages from the
docstrings; [the other pages](../index.md) have examples. Long work also takes `threads` (None: all
processors; results do not depend on it) and `progress` (a `Progress`), which are left out here.

Besides these, `toledo.metrics` has sacreBLEU's functions (`corpus_bleu`, `sentence_chrf`, …) and
`toledo.text` has `tokenize`, `detokenize`, `normalize`, `clean`, `Cleaning` and `Truecaser`.

| page | names |
|---|---|"""

Definition = ast.FunctionDef | ast.ClassDef


def main() -> None:
    """Write all pages and remove those that are no longer made."""
    TARGET.mkdir(exist_ok=True)
    texts = pages()
    for old in TARGET.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (TARGET / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return file names and texts."""
    grouped: dict[str, dict[str, str]] = {name: {} for name in PAGES}
    for name, module in sorted(exports().items(), key=lambda item: (item[0].lower(), item[0])):
        grouped[page_of(module)][name] = module
    texts = {f"{page}.md": page_text(page, names) for page, names in grouped.items() if names}
    return {"index.md": index(grouped), **texts}


def exports() -> dict[str, str]:
    """Return each exported name with its module."""
    for statement in parsed("").body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_MODULES":
            table: dict[str, str] = ast.literal_eval(statement.value)
            return {name: module for module, names in table.items() for name in names.split()}
    raise ValueError("toledo/__init__.py has no table _MODULES")


def page_of(module: str) -> str:
    """Return the page of a module: that of the longest module or package around it in `PAGES`, or the last one."""
    places = {one: page for page, (_, modules) in PAGES.items() for one in modules.split()}
    around = [module.rsplit(".", cut)[0] for cut in range(module.count(".") + 1)]
    return next((places[one] for one in around if one in places), "other")


def index(grouped: dict[str, dict[str, str]]) -> str:
    """Return the page that leads to the others."""
    rows = [
        f"| [{PAGES[page][0]}]({page}.md) | {', '.join(f'[`{name}`]({page}.md#{name.lower()})' for name in names)} |"
        for page, names in grouped.items()
        if names
    ]
    return "\n".join([INTRODUCTION, *rows, ""])


def page_text(page: str, names: dict[str, str]) -> str:
    """Return the text of a page."""
    parts = [f"# {PAGES[page][0]}", "", "Made from the docstrings by `make docs`. [All pages](index.md)", ""]
    for name, module in names.items():
        parts += [f"## `{name}`", "", *entry(name, module), ""]
    return "\n".join(parts).rstrip() + "\n"


def parsed(module: str) -> ast.Module:
    """Parse the source of `toledo.MODULE`."""
    path = PACKAGE.joinpath(*module.split(".")) if module else PACKAGE
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def resolve(module: str, name: str) -> tuple[str, ast.stmt] | None:
    """Return where a name is defined, and how; follow imports inside the package."""
    found: ast.stmt | None = None
    for statement in statements(parsed(module)):
        if isinstance(statement, Definition) and statement.name == name:
            found = statement  # of several overloads the last one, which is the implementation
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and name in names_of(statement):
            found = statement
        elif isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "toledo":
            for one in statement.names:
                if (one.asname or one.name) == name:
                    return resolve((statement.module or "").partition(".")[2], one.name)
    return None if found is None else (module, found)


def functions_of(module: str) -> dict[str, ast.FunctionDef]:
    """Return the functions of a module by name."""
    return {one.name: one for one in parsed(module).body if isinstance(one, ast.FunctionDef)}


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those for type checkers."""
    for statement in tree.body:
        yield statement
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            yield from statement.body


def names_of(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    """Return the names that are assigned to."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [ast.unparse(target) for target in targets]


def entry(name: str, module: str) -> list[str]:
    """Return signature and docstring of a function; also fields and methods of a class; the source of a constant."""
    found = resolve(module, name)
    if found is None:  # a module, or something that is made when it is imported
        return [f"`toledo.{module}`"]
    place, statement = found
    if isinstance(statement, ast.FunctionDef):
        return [*code(signature(statement, name, functions_of(place))), "", *described(documentation(statement))]
    if isinstance(statement, ast.ClassDef):
        return class_entry(name, statement, place)
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and (made := resolve(place, ast.unparse(value.func))):  # an object: see its class
        kind = made[1]
        return class_entry(name, kind, made[0], instance=True) if isinstance(kind, ast.ClassDef) else code(name)
    return code(ast.unparse(statement))


def class_entry(name: str, found: ast.ClassDef, module: str, *, instance: bool = False) -> list[str]:
    """Return fields, docstring and methods of a class, or of an object of it.

    Methods of an exported base are described there; those of another base are listed here.
    """
    bases = ", ".join(ast.unparse(base) for base in found.bases)
    head = f"{name}: {found.name}" if instance else f"class {name}({bases}):" if bases else f"class {name}:"
    lines = [*code("\n    ".join([head, *fields_of(found)])), "", *described(documentation(found))]
    methods = [*methods_of(found, module)]
    return [*lines, "", *methods] if methods else lines


def fields_of(found: ast.ClassDef) -> Iterator[str]:
    """Yield fields of a dataclass, a named tuple or a protocol, with help texts as comments."""
    for one in found.body:
        if not isinstance(one, ast.AnnAssign) or ast.unparse(one.target).startswith("_"):
            continue
        kind, text = one.annotation, ""
        if isinstance(kind, ast.Subscript) and isinstance(kind.slice, ast.Tuple) and name_of(kind) == "Annotated":
            texts = [word.value.value for word in ast.walk(kind) if is_description(word)]  # type: ignore[attr-defined]
            kind, text = kind.slice.elts[0], f"  # {texts[0]}" if texts else ""
        yield f"{ast.unparse(one.target)}: {ast.unparse(kind)}{default_of(one.value)}{text}"


def default_of(value: ast.expr | None) -> str:
    """Return " = …" for a default, which may be an argument of `field`."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        given = {one.arg: ast.unparse(one.value) for one in value.keywords}
        shown = given.get("default") or (f"{given['default_factory']}()" if "default_factory" in given else "")
    else:
        shown = ast.unparse(value) if value else ""
    return f" = {shown}" if shown else ""


def name_of(kind: ast.Subscript) -> str:
    """Return the name before the brackets of a type."""
    return ast.unparse(kind.value)


def is_description(node: ast.AST) -> bool:
    """Check whether this is `description="…"`."""
    return isinstance(node, ast.keyword) and node.arg == "description" and isinstance(node.value, ast.Constant)


def methods_of(found: ast.ClassDef, module: str) -> Iterator[str]:
    """Yield public methods and what they are for, an item of a list each."""
    methods, elsewhere = all_methods(found, module)
    others = {**methods, **functions_of(module)}
    for name, one in methods.items():
        kinds = decorators(one)
        if name == "__init__" and found.name not in elsewhere:
            yield f"- `{signature(one, found.name, others, short=True)}`"
        if name.startswith("_") or name in elsewhere | HIDDEN or takes_internals(one, module):
            continue
        if kinds & {"property", "cached_property"}:
            shown = f"{name}{result(one)}"
        else:
            shown = signature(one, name, others, short=True, bound="staticmethod" not in kinds)
        purpose = documentation(one).split("\n\n")[0].replace("\n", " ")
        yield f"- `{shown}`: {escape(purpose)}" if purpose else f"- `{shown}`"


def takes_internals(found: ast.FunctionDef, module: str) -> bool:
    """Check whether an argument is an object of the package that users do not make: then the method is not theirs."""
    given = found.args
    types = [one.annotation for one in (*given.posonlyargs, *given.args, *given.kwonlyargs) if one.annotation]
    names = {node.id for kind in types for node in ast.walk(kind) if isinstance(node, ast.Name)}
    places = {name: resolve(module, name) for name in names - set(exports())}
    return any(place is not None and isinstance(place[1], ast.ClassDef) for place in places.values())


def all_methods(found: ast.ClassDef, module: str) -> tuple[dict[str, ast.FunctionDef], set[str]]:
    """Return methods of a class and of bases that are not exported, and the names of those of exported bases."""
    methods = {one.name: one for one in found.body if isinstance(one, ast.FunctionDef)}  # the last of overloads
    elsewhere: set[str] = set()
    for base in found.bases:
        name = ast.unparse(base).partition("[")[0]
        if not name.isidentifier() or not (there := resolve(module, name)) or not isinstance(there[1], ast.ClassDef):
            continue
        more, hidden = all_methods(there[1], there[0])
        elsewhere |= hidden | (set(more) - {"__init__"} if name in exports() else set())
        methods = {**({} if name in exports() else more), **methods}
    return methods, elsewhere


def signature(
    found: ast.FunctionDef, name: str, others: dict[str, ast.FunctionDef], *, short: bool = False, bound: bool = True
) -> str:
    """Return name, arguments and result; if short, without types and without the first argument if it is bound.

    With the decorator `arguments_of(other)`, the arguments are those of the other function.
    """
    like = next((one.args[0] for one in calls(found) if ast.unparse(one.func) == "arguments_of"), None)
    listed = [*arguments((others[ast.unparse(like)] if like else found).args, short)]
    if short and bound:
        listed = listed[1:]
    return f"{name}({', '.join(listed)}){'' if found.name == '__init__' else result(found)}"


def arguments(given: ast.arguments, short: bool) -> Iterator[str]:
    """Yield each argument with its default, and with its type unless they are to be short."""
    places = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(places) - len(given.defaults)) + given.defaults
    named = [both for both in zip(given.kwonlyargs, given.kw_defaults, strict=True) if both[0].arg not in COMMON]
    yield from (argument(*both, short) for both in zip(places, defaults, strict=True) if both[0].arg not in COMMON)
    if given.vararg:
        yield f"*{argument(given.vararg, None, short)}"
    elif named:
        yield "*"
    yield from (argument(*both, short) for both in named)
    if given.kwarg:
        yield f"**{argument(given.kwarg, None, short)}"


def argument(given: ast.arg, default: ast.expr | None, short: bool) -> str:
    """Return an argument with its default, and with its type unless it is to be short or the default tells the type."""
    told = isinstance(default, ast.Constant) and isinstance(default.value, int | float)  # also bool
    typed = (
        f"{given.arg}: {ast.unparse(given.annotation)}" if given.annotation and not short and not told else given.arg
    )
    if default is None:
        return typed
    return f"{typed} = {ast.unparse(default)}" if ":" in typed else f"{typed}={ast.unparse(default)}"


def result(found: ast.FunctionDef) -> str:
    """Return what comes back; a method of one text or many also returns one result."""
    kind = ast.unparse(found.returns) if found.returns else ""
    if "one_or_many" in decorators(found):
        kind = f"{kind.removeprefix('list[').removesuffix(']')} | {kind}"
    return f" -> {kind}" if kind else ""


def calls(found: Definition) -> list[ast.Call]:
    """Return the decorators that have arguments."""
    return [one for one in found.decorator_list if isinstance(one, ast.Call)]


def decorators(found: Definition) -> set[str]:
    """Return the names of decorators, without arguments."""
    return {ast.unparse(one).split("(")[0].split(".")[-1] for one in found.decorator_list}


def documentation(found: Definition) -> str:
    """Return the docstring."""
    return inspect.cleandoc(ast.get_docstring(found, clean=False) or "")


def described(text: str) -> list[str]:
    """Return paragraphs as they are, and indented blocks in fences."""
    lines: list[str] = []
    for part in text.split("\n\n"):
        if part and all(line.startswith("    ") for line in part.splitlines()):
            lines += code(inspect.cleandoc(part))
        else:
            lines += [escape(line) for line in part.splitlines()]
        lines.append("")
    return lines[:-1]


def code(text: str) -> list[str]:
    """Return text in a fence; a long signature has an argument on each line."""
    if "\n" not in text and len(text) > LONGEST and "(" in text:
        text = broken(text)
    return ["```python", text, "```"]


def broken(text: str) -> str:
    """Put each argument on a line: cut at commas that are in no inner bracket."""
    begin = text.index("(")
    depth, parts, last, place = 0, [], begin + 1, begin
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
    """Escape signs that Markdown would take for its own."""
    return re.sub(r"(?<![`\w])\*(?=\w)|<(?=\w)", lambda found: "\\" + found[0], text)


if __name__ == "__main__":
    main()
