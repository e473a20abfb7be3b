"""The pages of the workbench: each draws the results of actions, the same that the API writes as JSON."""

from toledo.serve.pages.routes import routes

__all__ = ["routes"]
