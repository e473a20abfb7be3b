"""Moses' configuration files: names, weights, what is refused."""

import logging
from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.formats.moses_model import (
    LanguageModelFile,
    MosesConfiguration,
    PhraseTableFile,
    read_moses_ini,
    write_moses_ini,
)
from toledo.phrases.table import REORDERING_FEATURES, SCORE_FEATURES, TablePart

FULL = """
[input-factors]
0
[mapping]
0 T 0   # one step
[distortion-limit]
-1
[stack]
100

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryCompact name=TM num-features=5 path=/models/table.minphr input-factor=0 output-factor=0 table-limit=0
LexicalReordering name=LR num-features=6 type=wbe-msd-bidirectional-fe-allff input-factor=0 output-factor=0 path=r.gz
Distortion
KENLM lazyken=0 name=LM0 factor=0 path=a.bin order=5
SRILM name=Other factor=0 path=b.lm
[weight]
WordPenalty0= -1
PhrasePenalty0= 0.2
TM= 0.1 0.2 0.3 0.4 0.5
LR= 1 2 3 4 5 6e-1
Distortion0= 0.3
LM0= 0.5
Other= 0.25
"""


def read(tmp_path: Path, text: str) -> MosesConfiguration:
    (tmp_path / "moses.ini").write_text(text)
    return read_moses_ini(tmp_path / "moses.ini")


def test_a_tuned_configuration_of_moses(moses_files: Path) -> None:
    configuration = read_moses_ini(moses_files / "weights.mert.ini")
    assert configuration == MosesConfiguration(
        {
            "oov": 1,
            "word.penalty": -0.359932,
            "phrase.penalty": 0.0166659,
            "phrase.backward": 0.0372249,
            "lexicon.backward": 0.0511838,
            "phrase.forward": 0.172406,
            "lexicon.forward": 0.0668907,
            "distortion": 0.124483,
            "lm": 0.171213,
        },
        phrase_tables=(PhraseTableFile(Path("phrase-table.gz")),),
        language_models=(LanguageModelFile(Path("lm.3.bin"), 3),),
        distortion_limit=6,
    )


def test_everything_that_may_stand_in_a_configuration(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    configuration = read(tmp_path, FULL)
    (table,) = configuration.phrase_tables
    assert table == PhraseTableFile(Path("/models/table.minphr"), TablePart((*SCORE_FEATURES, "phrase.extra.1")))
    assert configuration.weights["phrase.extra.1"] == 0.5
    assert [configuration.weights[name] for name in REORDERING_FEATURES] == [1, 2, 3, 4, 5, 0.6]
    assert (configuration.weights["lm"], configuration.weights["lm.1"]) == (0.5, 0.25)
    assert configuration.weights["oov"] == 1  # Moses' default
    assert configuration.language_models == (LanguageModelFile(Path("a.bin"), 5), LanguageModelFile(Path("b.lm")))
    assert configuration.table_limit == 0
    assert (configuration.reordering_table, configuration.reordering_default) == (Path("r.gz"), None)
    assert configuration.distortion_limit is None
    assert "not used: stack" in caplog.text


@pytest.mark.parametrize("limit", [None, 0, 6])
def test_a_written_configuration_is_read_back(tmp_path: Path, limit: int | None) -> None:
    read_in = read(tmp_path, FULL.replace("path=r.gz", "path=r.gz default-scores=.6,.2,.2,.6,.2,.2"))
    configuration = MosesConfiguration(**{**vars(read_in), "distortion_limit": limit})
    assert configuration.reordering_default == (0.6, 0.2, 0.2, 0.6, 0.2, 0.2)
    write_moses_ini(tmp_path / "again.ini", configuration)
    assert read_moses_ini(tmp_path / "again.ini") == configuration


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("[stack]", "[ttable-file]", r"\[ttable-file\] is a section of the old format", 8),
        ("[stack]", "[weight-t]", r"\[weight-t\] is a section of the old format", 8),
        ("[stack]", "[weight-file]", r"\[weight-file\] has weights of sparse features", 8),
        ("\n[input", "x\n[input", "'x' stands before the first", 1),
        ("Distortion\n", "OpSequenceModel path=x\n", "Toledo has no feature OpSequenceModel", 17),
        ("Distortion\n", "Distortion\nDistortion name=Distortion0\n", "a second feature Distortion", 18),
        ("Distortion\n", "Distortion on\n", "'on' is not of the form key=value", 17),
        (" path=a.bin", "", "LM0 has no path", 18),
        ("order=5", "order=five", "order=five is not a whole number", 18),
        ("num-features=5", "num-features=2", "a phrase table with 2 scores", 15),
        ("wbe-msd", "hier-mslr", "a reordering model of type hier-mslr", 16),
        ("wbe-msd", "hier-msd", "a reordering model of type hier-msd", 16),
        ("path=r.gz", "path=r.gz default-scores=1,2", "is not a list of 6 numbers", 16),
        ("LM0= 0.5", "LM0= 0.5 0.1", "2 weights for LM0, which has 1", 18),
        ("LM0= 0.5\n", "", "no weights for LM0", 18),
        ("LM0= 0.5", "LM0 0.5", "'LM0 0.5' is not of the form", 26),
        ("LM0= 0.5", "LM0= half", "is not of the form", 26),
        ("LM0= 0.5", "LM0= nan", "is not of the form", 26),
        ("LM0= 0.5", "LM0=", "is not of the form", 26),
        ("LM0= 0.5", "LM0= 0.5\nLM0= 1", "has weights already", 27),
        ("LM0= 0.5", "LM0= 0.5\nLM7= 1", "features that are not declared: LM7", None),
        ("0 T 0", "0 T 0\n0 G 1", "factored", 6),
        ("0 T 0", "0 T 0\n0 T 1", "one table in each decoding path", 6),
        ("0 T 0", "0 T 0\n1 T 0", "phrase table 0 is in two decoding paths", 6),
        ("0 T 0", "0 T 0\n1 T 1", "phrase table 1 is not declared", 6),
        ("[stack]\n100", "[decoding-graph-backoff]\nall", "'all' is not a number of words", 9),
        ("[stack]\n100", "[decoding-graph-backoff]\n0\n3", "'3' is not a number of words of a decoding path", 10),
        ("Distortion\n", "Distortion\nPhraseDictionaryMemory name=T2 path=t2\n", "1 decoding paths for 2", 5),
        ("[input-factors]\n0", "[input-factors]\n1", "factored", 3),
        ("-1\n[stack]", "six\n[stack]", "distortion limit 'six'", 7),
        ("[feature]", "[features]", r"has no section \[feature\]", None),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, old: str, new: str, message: str, line: int | None) -> None:
    assert old in FULL
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, FULL.replace(old, new, 1))
    assert caught.value.line == line
    assert caught.value.remedy


def test_what_moses_cannot_have_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "moses.ini"
    with pytest.raises(InputError, match=r"Moses has no feature itg\.inverted"):
        write_moses_ini(path, MosesConfiguration({"itg.inverted": 1.0}))
    with pytest.raises(InputError, match="no weight for lm"):
        write_moses_ini(path, MosesConfiguration({}, language_models=(LanguageModelFile(Path("a")),)))
    with pytest.raises(InputError, match="cannot read the path 'my models/a'"):
        write_moses_ini(path, MosesConfiguration({"lm": 1}, language_models=(LanguageModelFile(Path("my models/a")),)))
    assert not path.exists()


@pytest.mark.parametrize("kind", ["msd-bidirectional-fe", "phrase-msd-bidirectional-fe", "fe-msd-bidirectional-allff"])
def test_spellings_of_the_type_of_a_reordering_model(tmp_path: Path, kind: str) -> None:
    """Moses' decoder takes the words of a type in any order; word-based models are used as phrase-based ones."""
    text = FULL.replace("wbe-msd-bidirectional-fe-allff", kind)
    assert read(tmp_path, text).reordering_table == Path("r.gz")


def test_weights_that_are_overwritten(tmp_path: Path) -> None:
    weights = read(tmp_path, f"{FULL}[weight-overwrite]\nLM0= 0.75\n").weights
    assert (weights["lm"], weights["lm.1"]) == (0.75, 0.25)


def test_what_helps_where_numbers_of_scores_differ(tmp_path: Path) -> None:
    table = "PhraseDictionaryMemory name=TM0 num-features=2 path=table"
    (tmp_path / "moses.ini").write_text(f"[feature]\n{table}\n[weight]\nTM0= 1 1\n")
    with pytest.raises(InputError, match="write 1 for a score that it lacks in each of its lines"):
        read_moses_ini(tmp_path / "moses.ini")
    (tmp_path / "moses.ini").write_text("[feature]\nKENLM name=LM0 path=lm oov-feature=1\n[weight]\nLM0= 1 1\n")
    with pytest.raises(InputError, match="remove oov-feature=1 and its weight"):
        read_moses_ini(tmp_path / "moses.ini")
