"""`toledo document` from the outside: whole runs beside what they gave before, bad input, and interruptions.

Where a search draws other numbers than before, `PYTHONPATH=tests python tests/cli/test_document_command.py` writes
what runs give now into golden/documents: look at the differences.
"""

import json
import signal
import tomllib
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from command_line import fail, run, succeed
from small_models import small_model

from toledo.api.documents import oracle
from toledo.formats.documents import read_documents
from toledo.model import SearchSettings
from toledo.search.document.search import DocumentSearch
from toledo.search.document.state import DocumentState
from toledo.weights import Weights

GOLDEN = Path(__file__).resolve().parent / "golden" / "documents"
TEXT = ["das haus ist klein", "klein ist das haus", "ist das & haus klein", "das haus", "das"]
IDS = ["a", "a", "b", "b", "b"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small_model().save("model")
    Path("source.de").write_text("\n".join(TEXT) + "\n")
    Path("source.docids").write_text("\n".join(IDS) + "\n")
    for file in ("source.xml", "references.xml"):
        Path(file).write_bytes((GOLDEN / file).read_bytes())
    return tmp_path


def done(command: str, *arguments: object) -> str:
    return succeed("document", command, "model", *arguments, "--threads", 1, "--quiet")


def refusal(command: str, *arguments: object, code: int = 2) -> str:
    said = fail("document", command, "model", *arguments, "--threads", 1, "--quiet", code=code)
    return " ".join(said.split())


RUNS: dict[str, list[str]] = {
    "climbing": ["translate", "--start", "random", "--steps", "600", "--seed", "3"],
    "models": [
        *("translate", "--document-model", "parity=2", "--document-model", "consistency=1.5"),
        *("--document-model", "document.lix=-0.1"),
        *("--accept", "annealing:start=2,end=0.1", "--steps", "600"),
    ],
    "sampling": [
        *("translate", "--accept", "sampling:temperature=0.5", "--keep", "last", "--steps", "500", "--record", "250"),
        *("--operation", "change=0.5", "--operation", "resegment=0.3", "--operation", "swap=0.2"),
    ],
    "bleu": ["oracle", "--start", "random", "--steps", "3000", "--max-rejected", "1000"],
    "guided": ["oracle", "--guided", "--start", "random", "--steps", "600"],
}  # fmt: skip


def given_by(name: str) -> dict[str, str]:
    """What a run writes: translations, recorded states, and what was decided."""
    command, *options = RUNS[name]
    given = ("source.xml", "--reference", "references.xml", *options)
    done(command, *given, "--write-trace", "trace.jsonl", "--output", "out.xml")
    files = {"xml": "out.xml", "jsonl": "trace.jsonl", "toml": "out.xml.toml"}
    texts = {kind: Path(file).read_text() for kind, file in files.items()}
    return {**texts, "toml": texts["toml"].partition("\n")[2]}  # without the signature


@pytest.mark.parametrize("name", RUNS)
def test_runs_give_what_they_gave(name: str, folder: Path) -> None:
    for kind, content in given_by(name).items():
        assert content == (GOLDEN / f"{name}.{kind}").read_text()
    again = ("source.xml", "--reference", "references.xml", "--config", "out.xml.toml")
    done(RUNS[name][0], *again, "--write-trace", "again.jsonl", "--output", "again.xml")
    assert Path("again.xml").read_text() == Path("out.xml").read_text()
    assert Path("again.jsonl").read_text() == Path("trace.jsonl").read_text()


def test_text_in_text_out_and_xml_by_suffix() -> None:
    given = ("source.de", "--document-ids", "source.docids", "--steps", 300)
    lines = done("translate", *given).splitlines()
    assert lines[0] == "the house is small"
    assert len(lines) == len(TEXT)
    done("translate", *given, "--output", "out.xml")
    done("translate", "source.xml", "--steps", 300, "--output", "out.en")
    assert Path("out.en").read_text().splitlines() == lines
    assert '<doc docid="b" sysid="toledo">' in Path("out.xml").read_text()
    assert done("translate", "source.xml", "--steps", 300).startswith("<?xml")
    one = done("translate", "source.de", "--steps", 0).splitlines()
    assert len(one) == len(TEXT)


def test_the_summary_and_the_plot() -> None:
    given = ("source.xml", "-r", "references.xml", "--steps", 300, "-o", "out.xml")
    whole = json.loads(done("translate", *given, "--json", "--write-plot", "search.html"))
    found = whole["result"]
    assert [one["id"] for one in found["documents"]] == ["a", "b"]
    assert [len(one["texts"]) for one in found["documents"]] == [2, 3]
    assert found["steps"] == 600
    assert found["score"] == pytest.approx(sum(found["features"][name] * w for name, w in weights().items()))
    assert 0 < found["bleu"] <= 100
    assert sum(one["drawn"] for one in found["operations"].values()) == 600
    tally = found["operations"]["resegment"]
    assert tally["drawn"] > tally["proposed"] >= tally["accepted"]  # single words of one option have no others
    assert Path("search.html").read_text().count("<figure>") == 2 + 9  # BLEU stays where it was; nine features
    done(
        "translate", *given[:3], "--start", "random", "--steps", 300, "-o", "random.xml", "--write-plot", "random.html"
    )
    assert Path("random.html").read_text().count("<figure>") == 3 + 9
    told = run("document", "translate", "model", *given, "--threads", 1).stderr
    assert f"score {found['score']:.2f}, BLEU {found['bleu']:.2f}" in told
    assert whole["signature"].split("search:")[0] in told
    before = Path("out.xml").read_text()
    succeed("document", "translate", "model", *given, "--threads", 2, "-q")
    assert Path("out.xml").read_text() == before


def weights() -> Weights:
    return small_model().weights


def test_weights_and_models_from_files() -> None:
    Weights({**weights(), "lm": 1.0, "document.parity": 3.0}).save("weights.toml")
    Path("search.toml").write_text("[document.translate]\nsteps = 50\nseed = 9\noperation = ['change=1']\n")
    given = ("source.xml", "--config", "search.toml", "-o", "out.xml", "--document-model", "ovix=0.5", "--steps", 60)
    found = json.loads(done("translate", *given, "--weights", "weights.toml", "--json"))["result"]
    assert {"document.parity", "document.ovix"} <= found["features"].keys()
    weighted = {**weights(), "lm": 1.0, "document.parity": 3.0, "document.ovix": 0.5}
    for document in found["documents"]:
        total = sum(weighted[name] * value for name, value in document["features"].items())
        assert document["score"] == pytest.approx(total)
    assert found["operations"].keys() == {"change"}
    options = tomllib.loads(Path("out.xml.toml").read_text())["document"]["translate"]
    assert (options["steps"], options["seed"], options["weights"]) == (60, 9, "weights.toml")
    assert options["document-model"] == ["ovix=0.5"]
    assert "swap=0.0" in options["operation"]


def test_given_derivations(folder: Path) -> None:
    lines = [
        "the house |0-1| is |2-2| small |3-3|", "small |0-0| is |1-1| that |2-2| house |3-3|",
        "is |0-0| the |1-1| & |2-2| house |3-3| small |4-4|", "that |0-0| house |1-1|", "the |0-0|",
    ]  # fmt: skip
    Path("moses").write_text("\n".join(lines) + "\n")
    given = ("source.de", "--document-ids", "source.docids", "--start", "moses", "--steps", 0)
    assert done("translate", *given).splitlines()[1] == "small is that house"
    Path("moses").write_text("\n".join(lines[:4]) + "\n")
    assert "4 derivations for 5 segments" in refusal("translate", *given)


def test_a_reference_within_reach() -> None:
    given = ("source.xml", "--pseudo-reference", "pseudo.xml", "--start", "random", "-o", "out.xml", "--steps", 3000)
    found = json.loads(done("oracle", *given, "--json"))["result"]
    (reference,) = {part.references for one in read_documents("source.xml", ["pseudo.xml"]).documents[1:]
                    for part in one.segments[2:]}  # fmt: skip
    assert len(reference) == 1
    assert found["bleu"] > 99.0
    drawn = Path("pseudo.xml").read_text()
    assert '<refset setid="small"' in drawn
    again = json.loads(done("oracle", *given, "--json"))["result"]
    assert again == found
    assert Path("pseudo.xml").read_text() == drawn
    both = ("source.xml", "-r", "references.xml", "--pseudo-reference", "pseudo.xml")
    assert "one kind" in refusal("oracle", *both)
    assert "one kind" in refusal("oracle", "source.xml")


def test_a_reference_is_drawn_from_what_the_weights_leave() -> None:
    model = replace(small_model(), settings=SearchSettings(4, 1))
    for sign, word in ((1.0, "the"), (-1.0, "that")):
        weights = {**model.weights, **dict.fromkeys(model.table.feature_names, sign), "lm": 0.0}
        oracle(model.with_weights(Weights(weights)), "source.xml", pseudo_reference=f"{word}.xml", steps=0)
        (references,) = read_documents("source.xml", [f"{word}.xml"]).documents[1].segments[2].references
        assert references == (word,)


def test_semantic_space(folder: Path) -> None:
    words = ["house small roof", "cat dog mouse", "red blue green"]
    lines = [f"the {words[n % 3]} is {words[n % 3]}" for n in range(60)]
    Path("train.en").write_text("\n".join(lines) + "\n")
    Path("train.docids").write_text("".join(f"d{n // 2}\n" for n in range(60)))
    command = ["document", "semantic-space", "train.en", "--document-ids", "train.docids", "-o", "space", "-q"]
    succeed(*command, "--dimensions", 2, "--stop-words", 2)
    given = ("source.xml", "--document-model", "semantic=1", "--steps", 100)
    assert "give --semantic-space" in refusal("translate", *given)
    assert "small" in done("translate", *given, "--semantic-space", "space")
    assert "no document model uses the semantic space" in refusal(
        "translate", "source.xml", "--semantic-space", "space"
    )


BAD: list[tuple[list[object], str]] = [
    (["source.xml", "--document-model", "parety=1"], "no document model 'parety'"),
    (["source.xml", "--document-model", "parity"], "not NAME=WEIGHT"),
    (["source.xml", "--document-model", "parity=x"], "'x' is not a number"),
    (["source.xml", "--document-model", "parity=nan"], "weight of document.parity is nan"),
    (["source.xml", "--document-model", "bleu=1"], "BLEU without references"),
    (["source.xml", "--operation", "chance=1"], "no operation 'chance'"),
    (["source.xml", "--operation", "change=-1"], "change is -1.0"),
    (["source.xml", "--operation", "change=0"], "frequency of 0"),
    (["source.xml", "--operation", "swap-distance-decay=1.5"], "swap_distance_decay is 1.5"),
    (["source.xml", "--accept", "hill-climbing:temperature=2"], "no setting of acceptance 'hill-climbing'"),
    (["source.xml", "--accept", "sampling:temperature=0"], "temperature of acceptance 'sampling' is 0"),
    (["source.xml", "--accept", "annealing:schedule=[4,-1]"], "schedule of acceptance 'annealing' is [4, -1]"),
    (["source.xml", "--accept", "anneal"], "no acceptance 'anneal': did you mean 'annealing'?"),
    (["source.xml", "--record", "often"], "record is 'often'"),
    (["source.xml", "--config", "bad.toml"], "stepps"),
    (["source.xml", "--weights", "nan-weights.toml"], "weight of lm is nan"),
    (["source.xml", "--document-ids", "source.docids"], "already has documents"),
    (["source.de", "--document-ids", "short"], "number of lines"),
    (["source.de", "--reference", "references.xml"], "which is text"),
    (["source.xml", "--reference", "short"], "2 lines for 5 segments"),
    (["cut.xml"], "not well-formed"),
    (["source.xml", "--weights", "other.toml"], "no document model 'lmm'"),
    (["source.xml", "--write-trace", "-"], "two results would go to standard output"),
    (["source.xml", "--write-trace", "-", "--json", "-o", "x"], "two results would go to standard output"),
    (["source.xml", "-o", "source.xml"], "the output is also an input"),
    (["source.xml", "--start", "beem"], "no start 'beem': did you mean 'beam'?"),
    (["source.xml", "--docids", "source.docids"], "it is --document-ids now"),
    (["source.xml", "--write-trace", "x", "-o", "x"], "two results would go to x"),
    (["source.xml", "--write-plot", "x.txt"], "not a file name for a plot"),
    (["source.xml", "-o", "nowhere/out"], "no such directory"),
    (["source.xml", "--resume"], "give the --output of before"),
    (["source.xml", "--resume", "-o", "out"], "no interrupted search"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"), BAD, ids=[f"{number} {message}" for number, (_, message) in enumerate(BAD)]
)
def test_what_is_refused(arguments: list[object], message: str, folder: Path) -> None:
    Path("bad.toml").write_text("[document.translate]\nstepps = 3\n")
    Path("nan-weights.toml").write_text('[weights]\n"lm" = nan\n')
    Path("other.toml").write_text('[weights]\n"lmm" = 1.0\n"itg.monotone" = 1.0\n')
    Path("short").write_text("a\nb\n")
    Path("cut.xml").write_text(Path("source.xml").read_text()[:300])
    before = {path.name for path in folder.iterdir()}
    assert message in refusal("translate", *arguments)
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("when", [5, 12])  # in the first document, and in the second
def test_an_interrupted_search_goes_on_to_the_same_result(monkeypatch: pytest.MonkeyPatch, when: int) -> None:
    options = ("-r", "references.xml", "--accept", "sampling", "--steps", 50_000, "--record", 10_000)
    given = ("translate", "source.xml", *options, "--write-trace", "trace.jsonl", "-o", "out.xml")
    done(*given)
    whole = [Path(file).read_text() for file in ("out.xml", "trace.jsonl", "out.xml.toml")]
    usual, asked = DocumentSearch._take_steps, []

    def interrupt(self: DocumentSearch, state: DocumentState, *how: Any) -> None:
        asked.append(state.step)
        if len(asked) == when:
            signal.raise_signal(signal.SIGINT)
        usual(self, state, *how)

    with monkeypatch.context() as patched:
        patched.setattr(DocumentSearch, "_take_steps", interrupt)
        with pytest.raises(KeyboardInterrupt):
            done(*given)
    assert asked[-1] < 50_000
    assert Path("out.xml").read_text().count("<seg") == 5
    assert "holds an unfinished run" in refusal(*given, code=3)
    assert "search: seed was 1, is 2" in refusal(*given, "--resume", "--seed", 2, code=3)
    done(*given, "--resume")
    assert [Path(file).read_text() for file in ("out.xml", "trace.jsonl", "out.xml.toml")] == whole
    assert not Path("out.xml.states").exists()


def test_empty_segments_and_documents() -> None:
    Path("text").write_text("\n\ndas haus\n\nunbekannt\n")
    Path("ids").write_text("a\na\nb\nb\nb\n")
    Path("reference").write_text("\n\nthe house\n\nunknown\n")
    models = [word for name in ("parity", "lix", "ovix", "consistency") for word in ("--document-model", f"{name}=1")]
    given = ("text", "--document-ids", "ids", "-r", "reference", "--steps", 200)
    lines = done("translate", *given, *models, "--write-plot", "x.svg").splitlines()
    assert lines == ["", "", "the house", "", "unbekannt"]
    assert done("oracle", *given).splitlines()[:2] == ["", ""]


def test_a_configuration_of_docent(shared_folder: Path, moses_files: Path) -> None:
    """Its model and search, and Moses' derivations: their score is Moses' own, with the references a BLEU of 37.2."""
    files = shared_folder / "peers" / "docent-50"
    tables = ("--phrase-table", files / "phrase-table.gz", "--language-model", moses_files / "lm.3.arpa.gz")
    succeed("import", "--docent-config", files / "docent-config.xml", *tables, "--output", "docent", "--quiet")
    given = (
        *("document", "translate", "docent", files / "input.xml", "--config", "docent/document.toml", "--json", "-q"),
        *("--start", files / "moses-segmentation.txt", "-r", files / "ref50.en", "--steps", 1000, "-o", "o.xml"),
    )  # fmt: skip
    found = json.loads(succeed(*given))["result"]
    assert found["score"] == pytest.approx(-1979.17, abs=0.005)
    assert found["bleu"] == pytest.approx(37.2, abs=0.05)
    assert {*found["operations"]} == {"change", "swap", "resegment"}


def test_help_shows_examples() -> None:
    for command in ("translate", "oracle", "semantic-space", "tune"):
        assert "Examples" in succeed("document", command, "--help")


def write_golden() -> None:
    with TemporaryDirectory() as directory, chdir(directory):
        small_model().save("model")
        for file in ("source.xml", "references.xml"):
            Path(file).write_bytes((GOLDEN / file).read_bytes())
        for name in RUNS:
            for kind, content in given_by(name).items():
                (GOLDEN / f"{name}.{kind}").write_text(content)


if __name__ == "__main__":
    write_golden()
