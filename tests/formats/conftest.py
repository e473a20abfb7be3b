"""Fixtures for tests of file formats."""

from pathlib import Path

import pytest

from toledo.formats.moses_table import read_phrase_table
from toledo.phrases.table import PhraseTable
from toledo.text.vocabulary import Vocabulary


@pytest.fixture(scope="session")
def moses_table(moses_files: Path) -> PhraseTable:
    """A real table that Moses made: 538,276 phrase pairs."""
    return read_phrase_table(moses_files / "phrase-table.gz", Vocabulary(), Vocabulary())
