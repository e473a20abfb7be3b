"""Training, alignment and language models as functions of texts."""

import logging
from pathlib import Path

import pytest
from small_models import small_model

from toledo.api.align import align
from toledo.api.model import Model
from toledo.api.train import train
from toledo.errors import InputError
from toledo.language_model.model import LanguageModel
from toledo.phrases.settings import HMM, TrainSettings

SOURCES = ["das haus ist klein", "ein haus", "das buch", "ein buch ist klein"] * 3
TARGETS = ["the house is small", "a house", "the book", "a book is small"] * 3


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "toledo")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name, lines in (("src", SOURCES), ("trg", TARGETS)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    return tmp_path / "src", tmp_path / "trg"


def test_files_lists_and_pairs_give_the_same_model(files: tuple[Path, Path]) -> None:
    signatures = {
        train(*files, tokenized=True).signature,
        train(*map(str, files), tokenized=True).signature,
        train(SOURCES, iter(TARGETS), tokenized=True).signature,
        train(files[0], TARGETS, tokenized=True).signature,
        train(list(zip(SOURCES, TARGETS, strict=True)), tokenized=True).signature,
    }
    assert len(signatures) == 1


def test_settings_of_the_command_line_are_those_of_the_function() -> None:
    import inspect

    defaults = {name: one.default for name, one in inspect.signature(train).parameters.items()}
    assert vars(TrainSettings()).items() <= defaults.items()


def test_given_alignments_replace_the_aligner(tmp_path: Path) -> None:
    found = align(SOURCES, TARGETS, aligner=HMM(iterations_hmm=2))
    model = train(SOURCES, TARGETS, alignments=found, output=tmp_path / "model", tokenized=True)
    assert model.phrase_model.training["given"] == "alignments"
    again = train(SOURCES, TARGETS, alignments=found.to_pharaoh().splitlines(), tokenized=True)
    assert again.signature == model.signature
    assert (tmp_path / "model" / "model.toml").is_file()
    with pytest.raises(InputError, match="11 lines of alignments for 12 sentence pairs"):
        train(SOURCES, TARGETS, alignments=list(found.pharaoh_lines())[1:], tokenized=True)


def test_alignments_are_a_sequence_of_links() -> None:
    found = align(SOURCES, TARGETS)
    assert len(found) == 12
    assert found[0] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert found[-1] == found[3]
    assert found[1:3] == [found[1], found[2]]
    assert str(found).splitlines()[1] == "0-0 1-1"
    assert repr(found) == "Alignments(12 sentence pairs, aligner:hmm|symmetrize:grow-diag-final-and)"
    assert found.to_dict()["alignments"][1] == [(0, 0), (1, 1)]


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (["a"], ["b", "c"], "sources has 1 segments, targets 2"),
        ([], [], "sources is empty"),
        (["a\nb"], ["c"], r"sources\[0\] contains a line end"),
        (["a", "b <s>"], ["c", "d"], r"sources\[1\]: the reserved word <s>"),
        (["a", "b"], None, r"sources\[0\] is 'a', which is not a pair"),
    ],
)
def test_bad_texts_are_named(sources: list[str], targets: list[str] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        align(sources, targets)


def test_what_is_no_text_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"targets\[1\] is None"):
        align(["a", "b"], ["c", None])  # type: ignore[list-item]


def test_language_models_of_texts(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(line + "\n" for line in TARGETS))
    model = LanguageModel.train(TARGETS, order=2)
    assert LanguageModel.train(tmp_path / "text", order=2).counts == model.counts
    assert "house" in model
    assert "haus" not in model
    one = model.score("the house")
    assert isinstance(one, float)
    assert model.score(["the house", "a haus"]).tolist()[0] == one
    assert model.score(tmp_path / "text").tolist() == model.score(TARGETS).tolist()
    for name in ("lm.arpa", "lm"):
        model.save(tmp_path / name)
        assert LanguageModel.load(tmp_path / name).score("the house") == pytest.approx(one, abs=1e-6)
    found = model.perplexity(["the house", "a haus"])
    assert (found.tokens, found.unknown) == (6, 1)
    assert found.value == pytest.approx(10 ** (-model.score(["the house", "a haus"]).sum() / 6))
    assert "perplexity" in str(found)


def test_one_threshold_prunes_all_orders_but_unigrams() -> None:
    whole, pruned = LanguageModel.train(TARGETS, 3), LanguageModel.train(TARGETS, 3, prune=4)
    assert pruned.counts[0] == whole.counts[0]
    assert all(few < many for few, many in zip(pruned.counts[1:], whole.counts[1:], strict=True))
    assert LanguageModel.train(TARGETS, 3, prune=[0, 4]).counts == pruned.counts


def test_models_over_other_vocabularies_are_mixed() -> None:
    models = [LanguageModel.train(TARGETS), LanguageModel.train(["an old house", "the old tree"] * 4, 2)]
    text = ["the old house is small"]
    mixture = LanguageModel.mix(models, text)
    assert sum(mixture.weights) == pytest.approx(1)
    assert mixture.perplexity(text).without_unknown == pytest.approx(mixture.perplexities[-1], abs=1e-3)
    assert "tree" in mixture
    assert mixture.order == 3
    with pytest.raises(InputError, match="1 model to mix"):
        LanguageModel.mix(models[:1], text)


def test_a_model_takes_language_models(tmp_path: Path) -> None:
    given = LanguageModel.train(["the tree", *TARGETS], 2)
    given.save(tmp_path / "lm")
    given.save(tmp_path / "lm.arpa")
    trained = train(SOURCES, TARGETS, language_models=[given, tmp_path / "lm", tmp_path / "lm.arpa"], tokenized=True)
    scores = [one.score("the tree") for one in trained.phrase_model.language_models]
    assert scores == pytest.approx([given.score("the tree")] * 3, abs=1e-6)


def test_imported_models_are_saved(tmp_path: Path) -> None:
    from toledo.api.files import export_moses
    from toledo.model import PhraseModel

    small_model().save(tmp_path / "model")
    export_moses(tmp_path / "model", tmp_path / "moses")
    model = Model.from_moses(tmp_path / "moses" / "moses.ini")
    model.save(tmp_path / "again")
    assert len(PhraseModel.load(tmp_path / "again").table) == len(model.phrase_model.table)


def test_names_of_files_in_a_list_are_refused(tmp_path: Path) -> None:
    for name in ("train.src", "train.trg"):
        (tmp_path / name).write_text("a\n", encoding="utf-8")
    with pytest.raises(InputError, match="sources has texts that name files"):
        train([str(tmp_path / "train.src")], [str(tmp_path / "train.trg")])


def test_a_text_that_names_a_file_is_translated_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "toledo")
    file = tmp_path / "test.src"
    file.write_text("das haus\n", encoding="utf-8")
    assert Model(small_model()).translate(str(file)) == str(file)
    assert f"pass Path({str(file)!r})" in caplog.text
