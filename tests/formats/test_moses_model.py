"""A whole model to Moses' files and back."""

from pathlib import Path

import pytest
from small_models import small_model

from toledo.errors import InputError
from toledo.formats.moses_model import export_model, import_model
from toledo.search.beam.search import BeamSearch


@pytest.mark.parametrize("reordering", [False, True])
def test_export_and_import(tmp_path: Path, reordering: bool) -> None:
    model = small_model(reordering)
    export_model(model, tmp_path / "moses")
    back = import_model(moses_ini=tmp_path / "moses" / "moses.ini")
    assert set(back.feature_names) == set(model.feature_names)
    assert {name: back.weights[name] for name in model.weights} == pytest.approx(dict(model.weights))
    assert back.settings == model.settings
    theirs = {(pair.source, pair.target): pair.scores for pair in back.table}
    for pair in model.table:
        assert theirs[pair.source, pair.target] == pytest.approx(pair.scores, abs=1e-5)
    sentence = ["das", "haus", "ist", "klein", "neu"]
    (ours,), (again,) = (BeamSearch(one).translate([sentence]) for one in (model, back))
    assert ours.words == again.words
    assert ours.score == pytest.approx(again.score, abs=1e-3)


def test_exporting_again_leaves_nothing_stale_and_other_directories_alone(tmp_path: Path) -> None:
    export_model(small_model(reordering=True), tmp_path / "moses")
    export_model(small_model(reordering=False), tmp_path / "moses")
    assert not (tmp_path / "moses" / "reordering-table.gz").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").touch()
    with pytest.raises(InputError):
        export_model(small_model(), tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis").exists()


def test_without_a_configuration_weights_are_defaults(tmp_path: Path) -> None:
    export_model(small_model(), tmp_path / "moses")
    model = import_model(tmp_path / "moses" / "phrase-table.gz", [tmp_path / "moses" / "lm.0.arpa.gz"])
    assert (model.weights["lm"], model.settings.distortion_limit) == (0.5, 6)


def test_nothing_to_import_is_an_error() -> None:
    with pytest.raises(InputError, match="no phrase table"):
        import_model()


@pytest.mark.parametrize(
    ("file", "option"),
    [
        ("lm.0.arpa.gz", "language-model"),
        ("phrase-table.gz", "phrase-table"),
        ("reordering-table.gz", "reordering-table"),
    ],
)
def test_files_that_are_elsewhere_are_asked_for(tmp_path: Path, file: str, option: str) -> None:
    export_model(small_model(reordering=True), tmp_path / "moses")
    elsewhere = (tmp_path / "moses" / file).rename(tmp_path / file)
    with pytest.raises(
        InputError, match=f"{file}: no such file, but the moses.ini(.|\n)*give another {option.replace('-', ' ')}"
    ):
        import_model(moses_ini=tmp_path / "moses" / "moses.ini")
    given: dict[str, object] = {option.replace("-", "_"): elsewhere}
    if option == "language-model":
        given = {"language_models": [elsewhere]}
    assert len(import_model(moses_ini=tmp_path / "moses" / "moses.ini", **given).table) == 6  # type: ignore[arg-type]
