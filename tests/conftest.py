"""Fixtures for all tests."""

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# `make test` tries the same examples each time, so that it fails only because of a change; `make fuzz` tries new ones,
# and many more. There is no deadline, because compilation makes the first example slow.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("fuzz", deadline=None, max_examples=500, print_blob=True)
settings.load_profile(os.environ.get("TOLEDO_PROPERTY_TESTS", "repeatable"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pages come first: each is one long test, and at the end one processor would wait for the other."""
    items.sort(key=lambda item: "page" not in item.path.name and item.path.name != "test_readme.py")


@pytest.fixture(autouse=True)
def level_of_messages() -> Iterator[None]:
    """A command with --quiet must not silence the tests after it, not even one that makes what many tests share."""
    _reset_levels()
    yield
    _reset_levels()


def _reset_levels() -> None:
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("toledo").setLevel(logging.NOTSET)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C works as at a terminal, also where tests run in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """Real data and the peers' files beside the checkout; tests that need them are skipped where they are absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder ../shared with real data")
    return folder


@pytest.fixture(scope="session")
def moses_files(shared_folder: Path) -> Path:
    """Text, alignments, tables and language models that Moses and KenLM read and wrote."""
    return shared_folder / "peers" / "moses-de-en"
