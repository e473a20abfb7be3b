"""How mkdocstrings shows what Toledo's sources say in their own way.

- `size: Annotated[int, Meta(ge=1, description="How large.")]` is an `int` with this help text.
- `@arguments_of(other)` gives a method the arguments of another function.
- `@one_or_many` makes a method that takes one text or many, and returns one result or a list.
- A method that takes objects which `toledo` does not export is not for users, and left out.
"""

from __future__ import annotations

import ast
from typing import Any

import griffe


class ToledoSources(griffe.Extension):
    """Read annotations and decorators of the package."""

    def __init__(self) -> None:
        super().__init__()
        self._borrowers: list[tuple[griffe.Function, str]] = []

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Turn an annotated field into a plain type with a docstring."""
        annotation = attr.annotation
        if not isinstance(annotation, griffe.ExprSubscript) or str(annotation.left) != "Annotated":
            return
        attr.annotation, *notes = annotation.slice.elements  # type: ignore[union-attr]
        for note in notes:
            if (text := _description(note)) and not attr.docstring:
                attr.docstring = griffe.Docstring(text, parent=attr)

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Note from which function one takes its arguments, and what one text gives."""
        for decorator in func.decorators:
            text = str(decorator.value)
            if text.startswith("arguments_of("):
                self._borrowers.append((func, text.removeprefix("arguments_of(").removesuffix(")")))
            elif text == "one_or_many":
                many = str(func.returns)
                func.returns = f"{many.removeprefix('list[').removesuffix(']')} | {many}"

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Copy arguments and leave out internal methods, now that all functions are known."""
        for func, name in self._borrowers:
            lender = func.parent.members.get(name) or func.module.members[name]  # type: ignore[union-attr]
            func.parameters = lender.parameters
        exports = [one for one in pkg.members.values() if one.is_alias and one.target_path.startswith(f"{pkg.path}.")]
        exported = {one.canonical_path for one in exports}
        methods = [
            one for export in exports if export.is_class for one in export.all_members.values() if one.is_function
        ]
        for method in {one.canonical_path: one.final_target if one.is_alias else one for one in methods}.values():
            if _takes_internals(method, pkg, exported):
                method.parent.del_member(method.name)


def _takes_internals(method: griffe.Object | griffe.Alias, pkg: griffe.Module, exported: set[str]) -> bool:
    """Check whether an argument is of a class of the package that users do not make."""
    annotations = [one.annotation for one in method.parameters if isinstance(one.annotation, griffe.Expr)]
    paths = {name.canonical_path for one in annotations for name in one.iterate() if isinstance(name, griffe.ExprName)}
    inside = {path for path in paths - exported if path.startswith(f"{pkg.path}.")}
    return any(pkg[path.removeprefix(f"{pkg.path}.")].is_class for path in inside)


def _description(note: str | griffe.Expr) -> str:
    """Return the help text in `Meta(description="…")`."""
    if isinstance(note, griffe.ExprCall):
        for argument in note.arguments:
            if isinstance(argument, griffe.ExprKeyword) and argument.name == "description":
                return str(ast.literal_eval(str(argument.value)))
    return ""
