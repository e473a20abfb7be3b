"""The workbench server: an engine with a bounded queue, an API of JSON, and pages on top of both."""
