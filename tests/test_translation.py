"""Blocks of lines through a search and a rule, or forced."""

import logging
import time
from dataclasses import replace
from pathlib import Path

import pytest
from beam_twin import small_model as model_of
from small_models import small_model

from toledo.api.model import Model
from toledo.api.tune_rule import tune_rule
from toledo.consensus.mbr import MBR
from toledo.errors import InputError
from toledo.files import read_lines
from toledo.phrases.sparse import pair_identity, sparse_features
from toledo.search.beam.search import BeamSearch
from toledo.search.itg import log_unused_weights
from toledo.search.settings import Beam
from toledo.translation import ForcedTranslator, Speed, Trace, Translator
from toledo.weights import Weights

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
    forced = ForcedTranslator(Beam().search(small_model()), read_lines(targets), name=str(targets))
    ((first, second),) = forced.blocks(str(source))
    (best,) = Beam().search(small_model()).translate([["das", "haus"]])
    assert float(first.line) == pytest.approx(best.score, abs=1e-5)
    assert (second.line, forced.failed) == ("-inf", 1)
    forced.report()
    assert "segment 1: no phrase gives 'house'" in caplog.text
    assert "1 segments have no translation as given" in caplog.text
    source.write_text("das haus\n")
    with pytest.raises(InputError, match="more than the 1 lines"):
        list(ForcedTranslator(Beam().search(small_model()), read_lines(targets)).blocks(str(source)))


def test_each_scale_has_samples_of_its_own() -> None:
    model, references = Model(small_model()), ["the house is small", "", "the house"]
    table = tune_rule(model, references, sources=LINES, scales=[0.5, 2.0], search="gibbs:iterations=30,burn_in=5")
    assert [row.scale for row in table.rows] == [0.5, 2.0]


def test_a_trace_has_a_column_for_sparse_features() -> None:
    plain = small_model()
    weights = Weights({**plain.weights, "pair:das~haus→the~house": 2.5})
    model = replace(plain, sparse=sparse_features(plain.table, [pair_identity]), weights=weights)
    ((line,),) = Translator(BeamSearch(model), forests=True, threads=1).parts([["das", "haus", "x"]])
    trace = line.trace(7, weights)
    lines = str(trace).splitlines()
    assert lines[0] == "segment 7: das haus x"
    head, row = lines[1].split(), next(line for line in lines if "das haus " in line and "0-1" in line).split()
    assert head[-3:] == ["sparse", "score", "total"]
    assert row[-3] == "2.5"
    total = float(trace.rows_as_dicts()[-1]["total"])
    assert abs(total - line.score) < 1e-3 * abs(line.score)
    assert lines[-2] == "  unknown: x"
    assert lines[-1].endswith("edges kept")
    assert str(Trace("a", counts={"options": 1})) == "segment 0: a\n  no translation\n  1 options"


def test_there_is_no_speed_where_kernels_were_compiled() -> None:
    before = Speed(start=time.process_time() - 20.0)
    assert before.report(400, 5000).startswith("sentences: 400, per CPU second 20; words per CPU second 2")
    assert "per CPU second 0.4;" in before.report(8, 50)
    compiling = replace(before, compiled=before.compiled - 1)
    assert compiling.report(400, 5000) == "sentences: 400 (no speed: kernels were compiled meanwhile)"


def test_a_reordering_table_is_not_ignored_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "toledo")
    content = {(("a",), ("x",)): (-0.1, -0.1, -0.1, -0.1)}
    for reordering in (False, True):
        model = model_of(content, (2,), None, reordering, [0.5] * 16)
        log_unused_weights(model, "beam")
        log_unused_weights(model, "itg")
        assert caplog.text.count("reordering table") == int(reordering)
