"""The pages of the workbench, and fragments of them."""

from __future__ import annotations

from starlette.routing import BaseRoute


def routes() -> list[BaseRoute]:
    """Return the routes of pages, fragments and static files."""
    return []
