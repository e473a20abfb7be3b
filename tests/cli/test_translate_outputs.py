"""What `toledo translate` writes beside translations, read back."""

import re
from itertools import islice
from pathlib import Path

import pytest
from command_line import Finished, fail
from command_line import run as run_command
from small_models import small_model

from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.registry import ALL_TEXTS, make_search_rule
from toledo.forest.assemble import split
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.forest.kbest import k_best
from toledo.formats.forest_files import read_forests
from toledo.formats.hypotheses import NBestList
from toledo.formats.jsonl import read_jsonl
from toledo.formats.nbest import read_nbest
from toledo.model import PhraseModel
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.beam.search import BeamSearch
from toledo.search.steps import steps_of

LINES = ["das haus ist klein", "", "klein ist das haus", "das unbekannt ☃ haus"]


@pytest.fixture(scope="module")
def model() -> PhraseModel:
    return small_model(reordering=True)


@pytest.fixture
def run(model: PhraseModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Runs the command in a directory with a model and a text."""
    monkeypatch.chdir(tmp_path)
    model.save("model")
    Path("in").write_text("".join(f"{line}\n" for line in LINES))

    def invoke(*arguments: str) -> Finished:
        return run_command("translate", "model", "in", "--threads", "2", *arguments)

    return invoke


def check_lists(model: PhraseModel, lists: list[NBestList], aligned: bool) -> None:
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


def test_nbest_lists_in_the_format_of_moses(run, model: PhraseModel) -> None:  # type: ignore[no-untyped-def]
    result = run("--write-nbest", "out.nbest.gz", "--nbest", "7")
    assert result.exit_code == 0
    lists = list(read_nbest("out.nbest.gz"))
    check_lists(model, lists, aligned=False)
    assert [" ".join(some.entries[0].words) for some in lists] == result.stdout.splitlines()
    assert max(len(some.entries) for some in lists) == 7
    assert not any(entry.phrases or entry.links for some in lists for entry in some.entries)
    assert list(lists[0].entries[0].features) == list(model.feature_names)


@pytest.mark.parametrize("options", [("--nbest-alignments",), ("--mark-phrases", "--nbest-alignments")])
def test_nbest_lists_with_phrases_and_links(run, model: PhraseModel, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    assert run("--write-nbest", "out.nbest", *options).exit_code == 0
    lists = list(read_nbest("out.nbest"))
    check_lists(model, lists, aligned=True)
    assert lists[3].entries[0].links
    assert ("|0-1|" in Path("out.nbest").read_text()) == ("--mark-phrases" in options)


def test_nbest_lists_as_json(run, model: PhraseModel) -> None:  # type: ignore[no-untyped-def]
    assert run("--write-nbest", "out.jsonl.gz", "--distinct").exit_code == 0
    lists = list(read_jsonl("out.jsonl.gz"))
    check_lists(model, lists, aligned=True)
    for some in lists:
        texts = [tuple(entry.words) for entry in some.entries]
        assert len(set(texts)) == len(texts)


def test_segmentation_and_alignment_of_translations(run) -> None:  # type: ignore[no-untyped-def]
    result = run("--mark-phrases", "--write-alignment", "links")
    assert result.stdout.splitlines()[:2] == ["the house |0-1| is |2-2| small |3-3|", ""]
    assert re.search(r"unbekannt \|1-1\|", result.stdout)
    assert Path("links").read_text().splitlines()[:2] == ["0-0 2-2 3-3", ""]
    both = run("--mark-phrases", "--write-nbest", "out.nbest")
    assert both.stdout == result.stdout


@pytest.mark.parametrize("density", [None, 2.0])
def test_forests_lattices_and_graphs_hold_the_same(run, model: PhraseModel, density: float | None) -> None:  # type: ignore[no-untyped-def]
    files = ["--write-forest", "forests", "--write-lattice", "out.slf", "--write-search-graph", "out.hg.gz"]
    result = run(*files, *(() if density is None else ("--density", str(density))))
    assert result.exit_code == 0
    assert run("--write-lattice", "lattices/", "--write-search-graph", "graphs/").exit_code == 0
    assert run("--write-lattice", "out.plf", "--plf-values", "logarithms").exit_code == 0
    saved = [part for part, _, _ in split(Forest.load("forests"))]
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
    result = run("--write-trace", "-", "-q")
    assert "segment 0: das haus ist klein" in result.stderr
    assert re.search(r"0-1 +das haus +the house .*-?\d", result.stderr)
    assert "unknown: unbekannt ☃" in result.stderr
    assert re.search(r"\d+ options, \d+ steps tried, \d+ hypotheses, \d+ edges kept", result.stderr)
    assert run("--write-trace", "trace.txt").exit_code == 0
    assert Path("trace.txt").read_text() == result.stderr
    (total,) = (row.split()[-1] for row in Path("trace.txt").read_text().split("\n\n")[0].splitlines() if "</s>" in row)
    score = BeamSearch(small_model(reordering=True)).translate([LINES[0].split()])[0].score
    assert float(total) == pytest.approx(score, abs=1e-3)


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("viterbi", ()),
        ("max-translation:size=50", ("--scale", "2")),
        ("mbr:size=50", ("--scale", "2", "--metric", "chrf")),
        ("consensus:size=50", ("--scale", "2")),
        ("lattice-mbr", ("--scale", "2")),
    ],
)
def test_decision_rules(run, rule: str, options: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    result = run("--rule", rule, *options, "--write-nbest", "out.nbest")
    assert result.exit_code == 0
    lines = result.stdout.split("\n")
    assert len(lines) == len(LINES) + 1
    assert lines[0] == "the house is small"
    assert lines[1] == ""


def test_settings_of_decision_rules(run) -> None:  # type: ignore[no-untyped-def]
    """Rules without a size look at 200 texts of a lattice, as references too, and at 1000 sampled ones."""
    assert make_search_rule("lattice-mbr:precision=0.5") == LatticeMBR(precision=0.5)
    assert make_search_rule("consensus:density=9") == Consensus(size=200, density=9.0)
    assert make_search_rule("mbr:size=7", "ter") == MBR("ter", 7, 7)
    assert make_search_rule("mbr", samples=True) == MBR(None, 1000, ALL_TEXTS, likeliest=True)
    assert make_search_rule(MBR("chrf", 5)) == MBR("chrf", 5)
    assert run("--rule", "lattice-mbr:precision=0.5,ratio=0.5,density=1").stdout == run().stdout


def test_forced_scores(run, model: PhraseModel) -> None:  # type: ignore[no-untyped-def]
    Path("given").write_text("the house is small\n\nsmall is that house\nthe house unknown ☃\n")
    result = run(
        "--score-target", "given", "--write-nbest", "out.jsonl", "--write-lattice", "out.plf", "--write-trace", "trace"
    )
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
        (("--score-target", "short"), "2 lines, fewer than the text"),
        (("--score-target", "long"), "more than the 4 lines"),
        (("--score-target", "long", "--rule", "mbr"), "--score-target scores translations, --rule chooses them"),
        (("--score-target", "long", "--search", "itg"), "--score-target follows the rules of beam search"),
        (("--score-target", "long", "--mark-phrases"), "writes scores, not text"),
        (("--rule", "mbr", "--write-alignment", "links"), "which has no phrases"),
        (("--rule", "mbr", "--scale", "0"), "scale is 0, expected"),
        (("--rule", "mbr", "--scale", "nan"), "scale is nan"),
        (("--rule", "mbr", "--scale", "1e-320"), "from 1e-100 to 1e+100"),
        (("--scale", "2"), "rule 'viterbi' has no scale"),
        (("--metric", "chrf"), "rule 'viterbi' has no metric"),
        (("--rule", "consensus", "--metric", "chrf"), "use --rule mbr"),
        (("--rule", "mbr:ratio=0.5"), "no setting of rule 'mbr' 'ratio'"),
        (("--rule", "lattice-mbr:ratio=0"), "ratio of rule 'lattice-mbr' is 0"),
        (("--rule", "mbrr"), "did you mean 'mbr'?"),
        (("--search", "beam:beam=5"), "no setting of search 'beam' 'beam'"),
        (("--search", "gibbs:chains=0"), "expected int of at least 1"),
        (("--write-nbest", "out"), "two results would go to out"),
        (("--write-nbest", "./out"), "two results would go to out"),
        (("--write-forest", "here", "--write-lattice", "here/"), "two results would go to here"),
        (("--write-nbest", "-", "--write-alignment", "-"), "two results would go to standard output"),
        (("--write-nbest", "in"), "the output is also an input"),
        (("--density", "3"), "--density: no forests or lattices are written"),
        (("--distinct",), "--distinct: without --write-nbest there are no lists"),
        (("--nbest", "9"), "leave --nbest out"),
        (("--plf-values", "logarithms"), "--plf-values: --write-lattice names no PLF file"),
        (("--write-diagnostics", "d.json"), "--write-diagnostics: only for --search gibbs"),
        (("--write-lattice", "out.txt"), "out.txt"),
        (("--write-lattice", "out.jsonl"), "not a name for lattices"),
        (("--write-nbest", "nowhere/out"), "no such directory"),
        (("--write-alignment", "nowhere/out"), "no such directory"),
        (("--write-forest", "in"), "the output is also an input"),
        (("--write-forest", "."), "holds other files"),
        (("--write-lattice", "./"), "holds other files"),
        (("--weights", "nowhere.toml"), "nowhere.toml"),
        (("--weights", "few.toml"), "few.toml: no weight for"),
        (("--weights", "nan.toml"), "the weight of lm is nan"),
        (("--n-best", "lists"), "there is no option --n-best: it is --write-nbest now"),
    ],
)
def test_bad_requests_are_refused_and_leave_nothing(run, arguments: tuple[str, ...], message: str) -> None:  # type: ignore[no-untyped-def]
    Path("short").write_text("a\nb\n")
    Path("long").write_text("a\n" * 5)
    Path("few.toml").write_text("[weights]\nlm = 1.0\n")
    Path("nan.toml").write_text("[weights]\nlm = nan\n")
    before = sorted(Path().iterdir())
    result = run(*arguments, "--output", "out")
    assert result.exit_code == 2, result.output
    assert message in result.stderr.replace("\n", " ")
    assert sorted(Path().iterdir()) == before


def test_weights_that_no_feature_has_are_refused(run, model: PhraseModel) -> None:  # type: ignore[no-untyped-def]
    text = "".join(f'"{name}" = {value}\n' for name, value in {**model.weights, "lmm": 1.0}.items())
    Path("more.toml").write_text(f"[weights]\n{text}")
    result = run("--weights", "more.toml")
    assert result.exit_code == 2
    assert "more.toml: the model has no feature 'lmm'" in result.stderr
    assert "did you mean lm" in result.stderr


def test_missing_and_broken_input(run, model: PhraseModel) -> None:  # type: ignore[no-untyped-def]
    assert "nowhere: no such file" in fail("translate", "model", "nowhere")
    Path("latin1").write_bytes(b"das haus\nsch\xf6n\n")
    assert "latin1:2: not valid UTF-8" in fail("translate", "model", "latin1", "-o", "out")
    assert not Path("out").exists()
    assert "cannot both come from standard input" in fail("translate", "model", "--score-target", "-")
    next(Path("model").glob("lm0.*.npy")).write_bytes(b"broken")
    assert "lm0" in run().stderr
