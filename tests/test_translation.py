"""Blocks of lines through a search and a rule, or forced."""

from pathlib import Path

import pytest
from small_models import small_model

from toledo.consensus.mbr import MBR
from toledo.errors import InputError
from toledo.search.settings import Beam, Gibbs
from toledo.translation import ForcedTranslator, Translator, sampled_scale_table

LINES = ["das haus ist klein", "", "<s> neu das haus"]


def test_lines_and_blocks_are_the_same_and_unknown_words_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("\n".join(LINES) + "\n")
    plain, decided = (Translator(Beam().search(small_model()), rule) for rule in (None, MBR()))
    blocks = [found for block in plain.blocks(str(source)) for found in block]
    assert [found.line for found in blocks] == ["the house is small", "", "<s> neu the house"]
    assert [found.forest for found in blocks] == [None] * 3
    assert (plain.words, plain.unknown, plain.failed) == (8, 1, 0)
    assert decided.lines([line.split() for line in LINES])[2] == "<s> neu the house"


def test_given_translations_are_scored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source, targets = tmp_path / "source", tmp_path / "targets"
    source.write_text("das haus\ndas\n")
    targets.write_text("the house\nhouse\n")
    forced = ForcedTranslator(Beam().search(small_model()), str(targets))
    ((first, second),) = forced.blocks(str(source))
    (best,) = Beam().search(small_model()).translate([["das", "haus"]])
    assert float(first.line) == pytest.approx(best.score, abs=1e-5)
    assert (second.line, forced.failed) == ("-inf", 1)
    forced.report()
    assert "segment 1: no phrase gives 'house'" in caplog.text
    assert "1 segments have no translation as given" in caplog.text
    source.write_text("das haus\n")
    with pytest.raises(InputError, match="more than the 1 lines"):
        list(ForcedTranslator(Beam().search(small_model()), str(targets)).blocks(str(source)))


def test_each_scale_has_samples_of_its_own() -> None:
    search = Gibbs(iterations=30, burn_in=5).search(small_model())
    sentences, references = [line.split() for line in LINES], [[["the", "house"]]] * 3
    table = sampled_scale_table(search, MBR(), sentences, references, [0.5, 2.0])
    assert [row.scale for row in table.rows] == [0.5, 2.0]
