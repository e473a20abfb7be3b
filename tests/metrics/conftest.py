"""Real translations of several systems with two references."""

from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Translations:
    first: list[str]
    second: list[str]
    references: list[list[str]]  # one list for each reference file, as sacreBLEU wants them

    @property
    def by_segment(self) -> list[tuple[str, ...]]:
        return list(zip(*self.references, strict=True))


@pytest.fixture(scope="session")
def translations(shared_folder: Path) -> Translations:
    folder = shared_folder / "data" / "wmt22-syscomb" / "de-en" / "test"
    first, second, *references = (
        (folder / name).read_text("utf-8").splitlines()[:80]
        for name in ("sys.Online-B.en", "sys.LT22.en", "ref.A.en", "ref.B.en")
    )
    return Translations(first, second, list(references))
