"""Input that is damaged, endless, or made to do harm: a short error with a remedy, no traceback, no hang."""

import gzip
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import small_models
from command_line import fail, succeed

from toledo import storage
from toledo.combination.combiner import DESCRIPTION as COMBINATION
from toledo.files import LONGEST_LINE_VARIABLE
from toledo.language_model.model import LanguageModel
from toledo.model import DESCRIPTION, PhraseModel
from toledo.runs.history import History, Round

DIGITS = {"many digits": "9" * 400, "too many digits for Python": "9" * 5000}
LONGEST_MESSAGE = 1500
NBEST = "0 ||| a ||| lm= 1 ||| 1\n"
ARPA = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-1\t<s>\n-1\t</s>\n\n\\end\\\n"  # the shortest model
INI = """[feature]
UnknownWordPenalty
KENLM name=LM0 path=lm.arpa order=2
PhraseDictionaryMemory name=T0 num-features=4 path=table table-limit=20
[distortion-limit]
6
[mapping]
0 T 0
[weight]
LM0= 0.5
T0= 1 1 1 1
"""
NUMBERS = {  # what is read, and where the digits go
    "ARPA, count": ("lm score x.arpa t.txt", "x.arpa", ARPA.replace("1=3", "1=@")),
    "ARPA, order": ("lm score x.arpa t.txt", "x.arpa", ARPA.replace("1=3", "@=3")),
    "PLF": ("forest show x.plf", "x.plf", "((('a',0.5,@),),)\n"),
    "weights": ("forest show x.nbest --weights w.toml", "w.toml", "[weights]\nlm = @\n"),
    "bounds": ("forest show x.nbest --weights w.toml", "w.toml", "[weights]\nlm = 1\n[bounds]\nlm = [0, @]\n"),
    "n-best, segment": ("forest show y.nbest", "y.nbest", NBEST.replace("0", "@", 1)),
    "JSONL, link": ("choose x.jsonl", "x.jsonl", '{"id": 0, "text": "a", "links": [[0, @]]}\n'),
    "JSONL, phrase": ("choose x.jsonl", "x.jsonl", '{"id": 0, "text": "a", "phrases": [[0, @, 0, 0]]}\n'),
    "JSONL, segment": ("choose x.jsonl", "x.jsonl", '{"id": @, "text": "a"}\n'),
    "hypergraph": ("forest show x.hg", "x.hg", "# target ||| features\n1 @\n0\n"),
    "SLF": ("forest show x.slf", "x.slf", "VERSION=1.0\nN=@ L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a\n"),
    "option": ("lm train t.txt -o o.arpa --order @", "t.txt", "a b\n"),
    "configuration": ("lm train t.txt -o o.arpa --config c.toml", "c.toml", "[lm.train]\norder = @\n"),
    "Moses, scores": ("import --moses-ini m.ini -o o", "m.ini", INI.replace("num-features=4", "num-features=@")),
    "Moses, table limit": ("import --moses-ini m.ini -o o", "m.ini", INI.replace("=20", "=@")),
    "Moses, order": ("import --moses-ini m.ini -o o", "m.ini", INI.replace("order=2", "order=@")),
    "Moses, jump": ("import --moses-ini m.ini -o o", "m.ini", INI.replace("\n6\n", "\n@\n")),
    "Moses, path": ("import --moses-ini m.ini -o o", "m.ini", INI.replace("0 T 0", "0 T @")),
    "Moses, weight": ("import --moses-ini m.ini -o o", "m.ini", INI.replace("0.5", "@")),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("das haus\n")
    (tmp_path / "x.nbest").write_text(NBEST)
    return tmp_path


def refused(command: str, code: int = 2) -> str:
    """Run a command that must end with a short error and a remedy."""
    error = fail(*command.split(), "-q", code=code)
    assert len(error) < LONGEST_MESSAGE
    assert "remedy: " in error
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize("digits", DIGITS.values(), ids=DIGITS)
@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS)
def test_numbers_with_many_digits(folder: Path, case: tuple[str, str, str], digits: str) -> None:
    command, name, content = case
    (folder / name).write_text(content.replace("@", digits))
    refused(command.replace("@", digits))


def test_a_number_of_scores_is_checked_before_their_names_are_made(folder: Path) -> None:
    (folder / "m.ini").write_text(INI.replace("num-features=4", f"num-features={10**12}"))
    assert "m.ini:4: num-features=1000000000000 is not a whole number up to 1000" in refused(
        "import --moses-ini m.ini -o o"
    )


@pytest.mark.parametrize("deep", ["[" * 20_000, "{a=" * 20_000], ids=["arrays", "tables"])
def test_toml_with_too_many_brackets_within_each_other(folder: Path, deep: str) -> None:
    (folder / "w.toml").write_text(f"a = {deep}\n")
    assert "w.toml: not valid TOML" in refused("forest show x.nbest --weights w.toml")


def test_toml_with_too_many_tables_within_each_other(folder: Path) -> None:
    """The parser of Python takes time that grows with the square of their number."""
    for text in ("a" + ".a" * 20_000, "a" + " . 'a'" * 20_000, "x = {a" + ".a" * 20_000 + " = 1}"):
        (folder / "w.toml").write_text(f"# a comment\n{text} = 1\n")
        assert "w.toml:2: a table within more than 100 others" in refused("forest show x.nbest --weights w.toml")


def test_a_byte_order_mark_is_not_part_of_toml(folder: Path) -> None:
    (folder / "w.toml").write_bytes(b"\xef\xbb\xbf[weights]\nlm = 1\n")
    (folder / "c.toml").write_bytes(b"\xef\xbb\xbf[lm.train]\norder = 2\n")
    succeed("forest", "show", "x.nbest", "--weights", "w.toml")
    succeed("lm", "train", "t.txt", "-o", "o.arpa", "--config", "c.toml", "-q")


@pytest.mark.parametrize("command", ["choose @", "lm score @ t.txt", "forest show x.nbest --weights @", "model info @"])
def test_a_name_that_is_too_long_is_not_repeated_as_a_whole(folder: Path, command: str) -> None:
    refused(command.replace("@", "a" * 3000))


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize(
    "command",
    ["evaluate @ -r t.txt", "lm train @ -o o", "forest show @", "forest show x.nbest --weights @", "report @ -o o"],
)
def test_devices_without_end_are_refused(folder: Path, command: str, device: str) -> None:
    assert f"{device}: is a device, not a file" in refused(command.replace("@", device))


def test_the_null_device_is_an_empty_file(folder: Path) -> None:
    assert succeed("text", "lowercase", "/dev/null") == ""


@pytest.mark.parametrize("command", ["text lowercase @ -o o", "lm train @ -o o", "evaluate @ -r @"])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv(LONGEST_LINE_VARIABLE, str(1 << 20))
    with gzip.open(folder / "x.gz", "wb") as stream:
        stream.write(b"a b\n" + b"a" * (1 << 25))
    assert "x.gz:2: a line of more than 1,048,576 bytes" in refused(command.replace("@", "x.gz"))
    monkeypatch.setenv(LONGEST_LINE_VARIABLE, "a lot")
    assert "TOLEDO_LONGEST_LINE=a lot is not a length" in refused(command.replace("@", "x.gz"))


def test_characters_are_not_halved(folder: Path) -> None:
    (folder / "x.arpa").write_text("\\data\\\n" + "a" * 79 + "ä\n")
    refused("lm score x.arpa t.txt")
    for half in (r"\ud800", r"\U0000dfff"):
        (folder / "x.plf").write_text(f"((('{half}', 0.5, 1),),)\n")
        assert "in a word (column 5)" in refused("forest show x.plf")


def test_other_white_space_in_moses_ini_is_no_feature(folder: Path) -> None:
    (folder / "m.ini").write_text(INI.replace("[feature]\n", "[feature]\n\u00a0\n"))
    assert "m.ini:2: " in refused("import --moses-ini m.ini -o o")


HEADER = b"{'descr': '<i4', 'fortran_order': False, 'shape': (%s,), }"
ARRAYS = {
    "an unclosed bracket": (1, b"{'shape': ((("),
    "an unclosed string": (1, b"'''" + b"a" * 100),
    "a header that is not there": (1, b" " * 10),
    "a header of 4 GB": (2, b"{"),
    "a huge array": (1, HEADER % (b"9" * 30)),
    "a negative array": (1, HEADER % b"-1"),
}


@pytest.mark.parametrize("case", ARRAYS.values(), ids=ARRAYS)
def test_headers_of_arrays(folder: Path, case: tuple[int, bytes]) -> None:
    version, header = case
    small_models.small_model().save(folder / "model")
    length = struct.pack("<H", len(header) + 10) if version == 1 else struct.pack("<I", 4_000_000_000)
    (folder / "model" / "source.bytes.npy").write_bytes(b"\x93NUMPY" + bytes([version, 0]) + length + header)
    assert "model/source.bytes.npy: damaged array" in refused("model info model")


def _changed(folder: Path, name: str, description: str, array: str, value: object, place: int = -1) -> None:
    """Store a directory with another value in an array, and a right checksum."""
    content, arrays = storage.load(folder / name, description)
    arrays = {key: np.array(one) for key, one in arrays.items()}
    arrays[array][place] = value
    shutil.rmtree(folder / name)
    storage.save(folder / name, description, content, arrays)


@pytest.mark.parametrize(
    ("array", "value", "place"),
    [("bytes", 255, -1), ("bytes", 10, -1), ("offsets", 10**15, -2), ("offsets", -1, 4), ("offsets", 1, 0)],
)
def test_words_of_a_model_are_checked(folder: Path, array: str, value: int, place: int) -> None:
    small_models.small_model().save(folder / "model")
    _changed(folder, "model", DESCRIPTION, f"source.{array}", value, place)
    assert "model/model.toml: " in refused("model info model")
    LanguageModel.train(["a b", "a c"], order=2).save(folder / "lm")
    _changed(folder, "lm", "language_model.toml", f"vocabulary.{array}", value, place)
    assert "lm/language_model.toml: " in refused("lm score lm t.txt")


def test_a_pipe_in_the_place_of_a_description_is_not_waited_for(folder: Path) -> None:
    small_models.small_model().save(folder / "model")
    (folder / "model" / DESCRIPTION).unlink()
    os.mkfifo(folder / "model" / DESCRIPTION)
    assert "model/model.toml: is not a file" in refused("model info model")


@pytest.mark.parametrize("limit", ["distortion_limit", "table_limit"])
def test_limits_of_a_model_are_numbers_that_kernels_can_count(folder: Path, limit: str) -> None:
    small_models.small_model().save(folder / "model")
    file = folder / "model" / DESCRIPTION
    lines = [f"{limit} = {10**12}" if one.startswith(limit) else one for one in file.read_text().split("\n")]
    file.write_text("\n".join(lines))
    assert "a limit that is not a whole number" in refused("model info model")


def test_a_text_is_not_a_list_of_letters(folder: Path) -> None:
    small_models.small_model().save(folder / "model")
    file = folder / "model" / DESCRIPTION
    text = file.read_text()
    begin = text.index("table_features = ")
    end = text.index("]", begin)
    file.write_text(f'{text[:begin]}table_features = "ab"{text[end + 1 :]}')
    with pytest.raises(ValueError, match="table_features is not a list of texts"):
        PhraseModel.load(folder / "model")


def test_weights_that_would_make_scores_infinite(folder: Path) -> None:
    (folder / "x.nbest").write_text("0 ||| a ||| lm= 1e38 ||| 1\n0 ||| b ||| lm= -1e38 ||| 1\n")
    (folder / "w.toml").write_text("[weights]\nlm = 1e300\n")
    assert "w.toml: the weight of lm is 1e+300" in refused("choose x.nbest --feature-weights w.toml")


@pytest.mark.parametrize("place", ["score", "weights", "path"])
def test_numbers_of_a_history_whose_sums_would_be_infinite(folder: Path, place: str) -> None:
    values = {"score": 1e308, "weights": {"lm": 1e308, "tm": 1e308}, "path": (1e308, -1e308)}
    start = Round(0, {"lm": 1.0}, -1e308 if place == "score" else 1.0)
    (folder / "run").mkdir()
    rounds = (Round(1, **{"weights": {"lm": 1.0}, "score": 1.0, place: values[place]}),)  # type: ignore[arg-type]
    history = History("tuning", "mert", "bleu", True, 1, start, rounds=(Round(1, {"lm": 1.0}, 1.0),))
    content = {**history.to_json(), "start": start, "rounds": rounds}
    (folder / "run" / "history.json").write_bytes(msgspec.json.encode(content))
    assert "run/history.json: not a saved run: Expected `float`" in refused("report run -o r.html", code=3)


@pytest.mark.parametrize("wrong", [{"stages": [1, 2]}, {"stages": [{"shares": 1}] * 2}, {"systems": "AB"}], ids=str)
def test_stages_and_systems_of_a_combination(folder: Path, wrong: dict[str, object]) -> None:
    for name, text in {"A": "the house\n", "B": "a house\n"}.items():
        (folder / f"{name}.en").write_text(text * 3)
    succeed("combine", "tune", "--systems", "A.en", "B.en", "-r", "A.en", "-o", "c", "--tokenized", "--folds", 2, "-q")
    content, arrays = storage.load(folder / "c", COMBINATION)
    arrays = {name: np.array(one) for name, one in arrays.items()}
    shutil.rmtree(folder / "c")
    storage.save(folder / "c", COMBINATION, {**content, **wrong}, arrays)
    assert "c/combination.toml" in refused("combine run c --systems A.en B.en")


def test_a_full_disk_leaves_no_example_data(folder: Path) -> None:
    """The first files fit, the next one does not."""
    code = """
import resource, signal
from toledo.sample.corpus import example_data
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    example_data(train=2000, tune=10, test=10).save("sample")
except OSError as error:
    print(type(error).__name__)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "OSError\n"
    assert not [path.name for path in folder.iterdir() if "sample" in path.name]
