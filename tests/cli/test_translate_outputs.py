"""What `toledo translate` writes beside translations, read back."""

import re
from itertools import islice
from pathlib import Path

import pytest
from small_models import small_model
from typer.testing import CliRunner, Result

from toledo.cli.app import app
from toledo.cli.rules import GainName, RuleName, RuleSettings, named_rule
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.errors import InputError
from toledo.forest.assemble import split
from toledo.forest.derivations import viterbi
from toledo.forest.kbest import k_best
from toledo.forest.saving import load_forest
from toledo.formats.forest_files import read_forests
from toledo.formats.hypotheses import NBestList
from toledo.formats.jsonl import read_jsonl
from toledo.formats.nbest import read_nbest
from toledo.model import Model
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.beam.search import BeamSearch
from toledo.search.steps import steps_of

LINES = ["das haus ist klein", "", "klein ist das haus", "das unbekannt ☃ haus"]

runner = CliRunner()


@pytest.fixture(scope="module")
def model() -> Model:
    return small_model(reordering=True)


@pytest.fixture
def run(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Runs the command in a directory with a model and a text."""
    monkeypatch.chdir(tmp_path)
    model.save("model")
    Path("in").write_text("".join(f"{line}\n" for line in LINES))

    def invoke(*arguments: str) -> Result:
        return runner.invoke(app, ["translate", "model", "in", "--threads", "2", *arguments])

    return invoke


def check_lists(model: Model, lists: list[NBestList], aligned: bool) -> None:
    """Features, scores, phrases and links are those of derivations."""
    forced = ForcedDecoder(model)
    assert len(lists) == len(LINES)
    for some in lists:
        source = LINES[some.segment].split()
        assert some.entries
        scores = [entry.score for entry in some.entries]
        assert scores == sorted(scores, reverse=True)
        for entry in some.entries:
            product = sum(model.weights[name] * value for name, value in entry.features.items())
            assert entry.score == pytest.approx(product, abs=1e-4)
            if aligned:
                phrases = [
                    (p.source.start, p.source.stop, entry.words[p.target.start : p.target.stop]) for p in entry.phrases
                ]
                derivation = forced.derivation(source, phrases)
                assert derivation.features == pytest.approx(dict(entry.features), abs=1e-4)
                assert derivation.score == pytest.approx(entry.score, abs=1e-4)


def test_nbest_lists_in_the_format_of_moses(run, model: Model) -> None:  # type: ignore[no-untyped-def]
    result = run("--n-best", "out.nbest.gz", "--n-best-size", "7")
    assert result.exit_code == 0
    lists = list(read_nbest("out.nbest.gz"))
    check_lists(model, lists, aligned=False)
    assert [" ".join(some.entries[0].words) for some in lists] == result.stdout.splitlines()
    assert max(len(some.entries) for some in lists) == 7
    assert not any(entry.phrases or entry.links for some in lists for entry in some.entries)
    assert list(lists[0].entries[0].features) == list(model.feature_names)


@pytest.mark.parametrize("options", [("--n-best-alignments",), ("--segmentation", "--n-best-alignments")])
def test_nbest_lists_with_phrases_and_links(run, model: Model, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    assert run("--n-best", "out.nbest", *options).exit_code == 0
    lists = list(read_nbest("out.nbest"))
    check_lists(model, lists, aligned=True)
    assert lists[3].entries[0].links
    assert ("|0-1|" in Path("out.nbest").read_text()) == ("--segmentation" in options)


def test_nbest_lists_as_json(run, model: Model) -> None:  # type: ignore[no-untyped-def]
    assert run("--n-best", "out.jsonl.gz", "--distinct").exit_code == 0
    lists = list(read_jsonl("out.jsonl.gz"))
    check_lists(model, lists, aligned=True)
    for some in lists:
        texts = [tuple(entry.words) for entry in some.entries]
        assert len(set(texts)) == len(texts)


def test_segmentation_and_alignment_of_translations(run) -> None:  # type: ignore[no-untyped-def]
    result = run("--segmentation", "--alignments", "links")
    assert result.stdout.splitlines()[:2] == ["the house |0-1| is |2-2| small |3-3|", ""]
    assert re.search(r"unbekannt \|1-1\|", result.stdout)
    assert Path("links").read_text().splitlines()[:2] == ["0-0 2-2 3-3", ""]
    both = run("--segmentation", "--n-best", "out.nbest")
    assert both.stdout == result.stdout


@pytest.mark.parametrize("density", [None, 2.0])
def test_forests_lattices_and_graphs_hold_the_same(run, model: Model, density: float | None) -> None:  # type: ignore[no-untyped-def]
    files = ["--forest", "forests", "--lattice", "out.slf", "--search-graph", "out.hg.gz"]
    result = run(*files, *(() if density is None else ("--density", str(density))))
    assert result.exit_code == 0
    assert run("--lattice", "lattices/", "--search-graph", "graphs/").exit_code == 0
    assert run("--lattice", "out.plf", "--plf-values", "logarithms").exit_code == 0
    saved = [part for part, _, _ in split(load_forest("forests"))]
    names = {"slf": "out.slf", "hypergraph": "out.hg.gz"}
    again = {form: [found.forest for found in read_forests(name, form)] for form, name in names.items()}  # type: ignore[arg-type]
    for segment, line in enumerate(result.stdout.splitlines()):
        best = viterbi(saved[segment], saved[segment].scores(model.weights))[0]
        assert best is not None
        assert " ".join(best.words) == line
        assert [word for step in steps_of(best) for word in step.words] == line.split()
        if density is not None:
            assert saved[segment].edges <= max(2 * len(line.split()), best.edges.size)
        expected = [one.score for one in islice(k_best(saved[segment], saved[segment].scores(model.weights)), 20)]
        for forests in again.values():
            if line:
                scores = forests[segment].scores(model.weights)
                found = [one.score for one in islice(k_best(forests[segment], scores), 20)]
                assert found == pytest.approx(expected, abs=1e-4)
    for form, name in (("slf", "lattices"), ("hypergraph", "graphs"), ("plf", "out.plf")):
        values = "logarithms" if form == "plf" else "probabilities"
        assert len(list(read_forests(name, form, plf_values=values))) == len(LINES)  # type: ignore[arg-type]


def test_traces(run) -> None:  # type: ignore[no-untyped-def]
    result = run("--trace", "-", "-q")
    assert "segment 0: das haus ist klein" in result.stderr
    assert re.search(r"0-1 +das haus +the house .*-?\d", result.stderr)
    assert "unknown: unbekannt ☃" in result.stderr
    assert re.search(r"\d+ options, \d+ steps tried, \d+ hypotheses, \d+ edges kept", result.stderr)
    assert run("--trace", "trace.txt").exit_code == 0
    assert Path("trace.txt").read_text() == result.stderr
    (total,) = (row.split()[-1] for row in Path("trace.txt").read_text().split("\n\n")[0].splitlines() if "</s>" in row)
    score = BeamSearch(small_model(reordering=True)).translate([LINES[0].split()])[0].score
    assert float(total) == pytest.approx(score, abs=1e-3)


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("viterbi", ()),
        ("max-translation", ("--scale", "2", "--hypotheses", "50")),
        ("mbr", ("--scale", "2", "--gain", "chrf", "--hypotheses", "50")),
        ("consensus", ("--scale", "2", "--hypotheses", "50")),
        ("lattice-mbr", ("--scale", "2")),
    ],
)
def test_decision_rules(run, rule: str, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    result = run("--decide", rule, *options, "--n-best", "out.nbest")
    assert result.exit_code == 0
    lines = result.stdout.split("\n")
    assert len(lines) == len(LINES) + 1
    assert lines[0] == "the house is small"
    assert lines[1] == ""


def test_settings_of_decision_rules(run) -> None:  # type: ignore[no-untyped-def]
    settings = RuleSettings(GainName.ter, 7, 0.5, 0.6, 9.0)
    assert named_rule(RuleName.lattice_mbr, settings) == LatticeMBR(precision=0.5, ratio=0.6, density=9.0)
    assert named_rule(RuleName.lattice_mbr, RuleSettings()) == LatticeMBR()
    assert named_rule(RuleName.consensus, settings) == Consensus(size=7, density=9.0)
    assert named_rule(RuleName.mbr, settings) == MBR("ter", 7, 7)
    options = ("--decide", "lattice-mbr", "--precision", "0.5", "--ratio", "0.5", "--decide-density", "1")
    assert run(*options).stdout == run().stdout


def test_forced_scores(run, model: Model) -> None:  # type: ignore[no-untyped-def]
    Path("given").write_text("the house is small\n\nsmall is that house\nthe house unknown ☃\n")
    result = run("--force", "given", "--n-best", "out.jsonl", "--lattice", "out.plf", "--trace", "trace")
    assert result.exit_code == 0
    scores = [float(line) for line in result.stdout.splitlines()]
    best = BeamSearch(model).translate([LINES[0].split()])[0]
    assert scores[0] == pytest.approx(best.score, abs=1e-4)
    assert scores[3] == float("-inf")
    assert "segment 3: no phrase gives 'unknown'" in result.stderr
    assert "1 segments have no translation as given" in result.stderr
    lists = list(read_jsonl("out.jsonl"))
    assert [entry.words for entry in lists[2].entries] == [["small", "is", "that", "house"]] * len(lists[2].entries)
    assert lists[2].entries[0].score == pytest.approx(scores[2], abs=1e-4)
    assert len(lists) == 3  # the last segment has none
    assert len(Path("out.plf").read_text().splitlines()) == 4
    assert "no translation" in Path("trace").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--force", "short"), "2 lines, fewer than the text"),
        (("--force", "long"), "more than the 4 lines"),
        (("--force", "long", "--decide", "mbr"), "choose one of both"),
        (("--force", "long", "--segmentation"), "writes scores, not text"),
        (("--decide", "mbr", "--alignments", "links"), "which has no phrases"),
        (("--decide", "mbr", "--scale", "0"), "the scale is 0"),
        (("--n-best", "out"), "two results would go to out"),
        (("--n-best", "./out"), "two results would go to out"),
        (("--forest", "here", "--lattice", "here/"), "two results would go to here"),
        (("--density", "3"), "--decide-density"),
        (("--decide", "lattice-mbr", "--ratio", "0"), "--ratio 0"),
        (("--distinct",), "without a place to write them"),
        (("--n-best", "-", "--alignments", "-"), "two results would go to standard output"),
        (("--decide", "mbr", "--scale", "nan"), "the scale is nan"),
        (("--decide", "mbr", "--scale", "1e-320"), "from 1e-100 to 1e+100"),
        (("--decide", "mbr", "--choose-scale", "-r", "in", "--scales", "1,1e200"), "the scale is 1e+200"),
        (("--lattice", "out.txt"), "out.txt"),
        (("--lattice", "out.jsonl"), "is not a name for lattices"),
        (("--n-best", "nowhere/out"), "no such directory"),
        (("--alignments", "nowhere/out"), "no such directory"),
        (("--forest", "in"), "is a file, not a directory"),
        (("--forest", "."), "holds other files"),
        (("--lattice", "./"), "holds other files"),
        (("--weights", "nowhere.toml"), "nowhere.toml"),
        (("--weights", "few.toml"), "few.toml: no weight for"),
        (("--weights", "nan.toml"), "the weight of lm is nan"),
    ],
)
def test_bad_requests_are_refused_and_leave_nothing(run, arguments: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    Path("short").write_text("a\nb\n")
    Path("long").write_text("a\n" * 5)
    Path("few.toml").write_text("[weights]\nlm = 1.0\n")
    Path("nan.toml").write_text("[weights]\nlm = nan\n")
    before = sorted(Path().iterdir())
    result = run(*arguments, "--output", "out")
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert sorted(Path().iterdir()) == before


def test_weights_that_no_feature_has_are_refused(run, model: Model) -> None:  # type: ignore[no-untyped-def]
    text = "".join(f'"{name}" = {value}\n' for name, value in {**model.weights, "lmm": 1.0}.items())
    Path("more.toml").write_text(f"[weights]\n{text}")
    result = run("--weights", "more.toml")
    assert isinstance(result.exception, InputError)
    assert "more.toml: the model has no feature 'lmm'" in str(result.exception)
    assert "did you mean lm" in str(result.exception)


def test_missing_and_broken_input(run, model: Model) -> None:  # type: ignore[no-untyped-def]
    result = runner.invoke(app, ["translate", "model", "nowhere"])
    assert isinstance(result.exception, InputError)
    assert "nowhere: no such file" in str(result.exception)
    Path("latin1").write_bytes(b"das haus\nsch\xf6n\n")
    result = runner.invoke(app, ["translate", "model", "latin1", "-o", "out"])
    assert isinstance(result.exception, InputError)
    assert "latin1:2: not valid UTF-8" in str(result.exception)
    assert not Path("out").exists()
    result = runner.invoke(app, ["translate", "model", "--force", "-"])
    assert isinstance(result.exception, InputError)
    assert "cannot both come from standard input" in str(result.exception)
    next(Path("model").glob("lm0.*.npy")).write_bytes(b"broken")
    result = run()
    assert isinstance(result.exception, InputError)
    assert "lm0" in str(result.exception)
