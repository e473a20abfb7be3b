"""The workbench server: an engine with a bounded queue, an API of JSON, and pages on top of both.

The package can be called: `toledo.serve("model")` is `toledo.serve.server.serve`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package with the name of the function that it is for."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Answer requests over HTTP; see `toledo.serve.server.serve`."""
        from toledo.serve.server import serve

        return serve(*arguments, **named)


sys.modules[__name__].__class__ = CallablePackage
