"""Scores from outside: functions, matrices and columns, in every verb that takes a metric, against explicit loops."""

import json
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import toledo
from tests.command_line import fail, succeed
from toledo import InputError
from toledo.consensus.texts import best_texts

Scores = list[float]
Texts = list[str]


class Judge:
    """A function that counts its calls and refuses to be asked twice in a call, or in another thread."""

    def __init__(self, factor: float = 1.0, shift: float = 0.0) -> None:
        self.__name__ = "judge"
        self.factor, self.shift = factor, shift
        self.calls: list[int] = []
        self.seen: list[tuple[str, str, str | None]] = []

    def __call__(self, hypotheses: Texts, references: Texts, sources: Texts | None) -> Scores:
        assert threading.current_thread() is threading.main_thread()
        asked = list(zip(hypotheses, references, sources or [None] * len(hypotheses), strict=True))
        assert len(set(asked)) == len(asked)
        self.calls.append(len(asked))
        self.seen += asked
        return [self.of(*one) for one in asked]

    def of(self, said: str, meant: str, source: str | None = None) -> float:
        """Return the share of common words; longer sources make scores lower."""
        one, other = set(said.split()), set(meant.split())
        share = len(one & other) / max(len(one | other), 1) - 0.01 * len(said)
        return self.factor * (share / (1 + len(source or ""))) + self.shift


def random_matrices(seed: int, sizes: Sequence[int]) -> list[NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    return [random.random((size, size)) for size in sizes]


def best_by_loops(matrix: NDArray[np.float64], weights: Sequence[float]) -> tuple[int, float]:
    """Return the best sample and its expected utility by an explicit double loop."""
    values = []
    for row in range(len(matrix)):
        total = 0.0
        for column in range(len(matrix)):
            total += weights[column] / sum(weights) * matrix[row, column]
        values.append(total)
    best = max(range(len(values)), key=lambda place: (values[place], -place))
    return best, values[best]


SIZES = [3, 5, 2, 4]
MATRICES = random_matrices(1, SIZES)
LISTS = [[f"text {segment} {place}" for place in range(size)] for segment, size in enumerate(SIZES)]


def write_matrices(folder: Path, form: str) -> tuple[Path, str]:
    """Write lists and matrices in some form; return the list file and the metric."""
    rows = [{"hypotheses": some} for some in LISTS]
    if form == "jsonl":
        rows = [{**row, "utilities": one.tolist()} for row, one in zip(rows, MATRICES, strict=True)]
    elif form == "npz":
        np.savez(folder / "m.npz", *MATRICES)
    elif form == "named":
        np.savez_compressed(folder / "m.npz", **{f"s{place}": one for place, one in enumerate(MATRICES)})
    (folder / "lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "lists.jsonl", "matrix" if form == "jsonl" else f"matrix:{folder / 'm.npz'}"


@pytest.mark.parametrize("form", ["jsonl", "npz", "named"])
def test_matrices_choose_as_double_loops_do(tmp_path: Path, form: str) -> None:
    file, metric = write_matrices(tmp_path, form)
    expected = [best_by_loops(one, [1.0] * len(one)) for one in MATRICES]
    found = toledo.choose_many(file, metric=metric)
    assert [(one.index, one.score) for one in found] == [(place, pytest.approx(value)) for place, value in expected]
    assert "metric:matrix" in found[0].signature
    assert not found[0].extra
    given = toledo.choose_many(LISTS, matrices=MATRICES)
    assert given.indices == found.indices
    lines = succeed("choose", file, "--metric", metric).splitlines()
    assert lines == [some[place] for some, (place, _) in zip(LISTS, expected, strict=True)]


def test_weights_and_a_stack_of_matrices(tmp_path: Path) -> None:
    stack = np.array(random_matrices(2, [4] * 6))
    np.save(tmp_path / "m.npy", stack)
    lists, weights = [[f"{s} {h}" for h in range(4)] for s in range(6)], [4.0, 1.0, 2.0, 3.0]
    found = toledo.choose_many(lists, matrices=tmp_path / "m.npy", weights=[weights] * 6)
    assert found.indices == [best_by_loops(one, weights)[0] for one in stack]
    systems = {name: [some[place] for some in lists] for place, name in enumerate("ABCD")}
    equal = toledo.choose_many(systems, metric=f"matrix:{tmp_path / 'm.npy'}", votes="equal")
    assert equal.indices == [best_by_loops(one, [1.0] * 4)[0] for one in stack]


def test_samples_that_failed_have_no_row(tmp_path: Path) -> None:
    row = {"hypotheses": ["a", None, "b"], "utilities": [[0, 9, 1], [9, 9, 9], [0, 9, 0.5]]}
    (tmp_path / "lists.jsonl").write_text(json.dumps(row) + "\n")
    (choice,) = toledo.choose_many(tmp_path / "lists.jsonl", metric="matrix")
    assert (choice.text, choice.score) == ("a", 0.5)


def _forged(path: Path) -> None:
    """Write an archive whose header promises far more than there is."""
    import io
    import zipfile

    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (1 << 20, 1 << 20)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("arr_0.npy", stream.getvalue())


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: np.savez(path, np.eye(3), np.eye(3)), "segment 1: matrix has shape (3, 3), expected (5, 5)"),
        (lambda path: np.savez(path, *MATRICES[:2]), "matrices end at segment 2"),
        (lambda path: np.savez(path, *MATRICES, np.eye(2)), "more matrices than segments"),
        (lambda path: np.savez(path, np.eye(2), *MATRICES[1:]), "segment 0: matrix has shape (2, 2), expected (3, 3)"),
        (lambda path: np.savez(path, np.full((3, 3), np.nan)), "segment 0: matrix contains nan"),
        (lambda path: np.savez(path, np.array([[None]]), allow_pickle=True), "expected numbers"),
        (lambda path: np.savez(path, np.ones(3)), "segment 0: shape (3,), expected [row, column]"),
        (_forged, "more than the file can have"),
        (lambda path: path.write_bytes(b"PK\x03\x04"), "not an array"),
        (lambda path: path.write_text("1 2 3"), "not an array"),
    ],
)
def test_files_of_matrices_that_do_not_fit(tmp_path: Path, write: Callable[[Path], None], message: str) -> None:
    write(tmp_path / "m.npz")
    file, _ = write_matrices(tmp_path, "none")
    shown = fail("choose", file, "--metric", f"matrix:{tmp_path / 'm.npz'}")
    assert message in shown
    assert "m.npz" in shown
    assert "remedy" in shown


def test_matrices_elsewhere_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.eye(3))
    with pytest.raises(InputError, match="expected three axes"):
        toledo.choose_many(LISTS, matrices=tmp_path / "flat.npy")
    np.save(tmp_path / "objects.npy", np.array([[[None]]]), allow_pickle=True)
    with pytest.raises(InputError, match="not an array"):
        toledo.choose_many(LISTS, matrices=tmp_path / "objects.npy")
    with pytest.raises(InputError, match="no such file"):
        toledo.choose_many(LISTS, metric="matrix:nowhere.npy")
    with pytest.raises(InputError, match="segment 0: no key 'utilities'"):
        toledo.choose_many(LISTS, metric="matrix")
    with pytest.raises(InputError, match="exclude each other"):
        toledo.choose_many(LISTS, matrices=MATRICES, metric="chrf")
    with pytest.raises(InputError, match="compares samples of lists"):
        toledo.evaluate(["a"], ["b"], metrics="matrix:m.npy")
    with pytest.raises(InputError, match="rerank:feature=judge"):
        toledo.choose_many(LISTS, metric="column:judge")


SYSTEMS = {
    "A": ["The cat sat on the mat.", "He waits for a train.", "She bought two books."] * 3,
    "B": ["A cat sat on the mat.", "He is waiting for the train.", "She has bought books."] * 3,
    "C": ["The cat sat on a mat.", "He waits for the train.", "Two books she bought."] * 3,
}
REFERENCES = ["The cat sat on a mat.", "He waits for the train.", "She bought two books."] * 3
SOURCES = [f"Satz {number}" for number in range(9)]


@pytest.fixture(scope="module")
def combination() -> toledo.Combination:
    return toledo.Combination.tune(SYSTEMS, REFERENCES, entropy=[1.0])


def test_a_function_chooses_in_forests_as_double_loops_do(combination: toledo.Combination) -> None:
    forests, weights, judge = combination.forest(SYSTEMS), combination.weights, Judge()
    for size in (4, 20):
        found = toledo.choose_many(forests, rule=toledo.MBR(judge, size, size), feature_weights=weights)
        for segment, (forest, choice) in enumerate(zip(forests, found, strict=True)):
            texts = best_texts(forest, forest.scores(weights), size)
            words = [" ".join(forest.vocabulary.words(one.tolist())) for one in texts.texts]
            values = []
            for said in words:
                total = 0.0
                for meant, share in zip(words, texts.probabilities, strict=True):
                    total += share * judge.of(said, meant)
                values.append(total)
            assert choice.score == pytest.approx(max(values)), segment
            assert choice.text == words[int(np.argmax(np.round(values, 9)))]
    assert len(judge.calls) == 2  # all segments together, once for each size
    alone = toledo.MBR(judge, 20, 20).decide(forests[0], forests[0].scores(weights))
    assert alone.value == pytest.approx(found[0].score)


def test_a_function_compares_combined_texts_as_they_are_written(combination: toledo.Combination) -> None:
    judge = Judge()
    needs = toledo.utility(judge, needs=("references", "sources"))
    lines = combination.run(SYSTEMS, rule="mbr", metric=needs, size=5, sources=SOURCES)
    assert len(lines) == 9
    assert {source for _, _, source in judge.seen} == set(SOURCES)
    said = {text for text, _, _ in judge.seen}
    assert set(lines) <= said
    assert "The cat sat on a mat." in said  # with its case and without a blank before the full stop
    assert len(judge.calls) == 1
    again = toledo.combine(SYSTEMS, tune=(SYSTEMS, REFERENCES), rule="mbr", metric=Judge(), entropy=[1.0])
    assert toledo.evaluate(again, REFERENCES, metrics=Judge())["judge"].score > 0.0
    with pytest.raises(InputError, match="needs sources"):
        combination.run(SYSTEMS, rule="mbr", metric=needs)
    with pytest.raises(InputError, match="does not have"):
        toledo.Combination.tune(SYSTEMS, REFERENCES, objective=judge)  # type: ignore[arg-type]


FEATURES = ("f0", "f1")


def random_lists(seed: int, segments: int = 12, size: int = 6) -> list[list[dict[str, object]]]:
    random = np.random.default_rng(seed)
    words = [f"w{place}" for place in range(6)]
    lists = []
    for _ in range(segments):
        texts = {" ".join(random.choice(words, random.integers(2, 6))) for _ in range(size)}
        lists.append(
            [
                {"text": text, "features": dict(zip(FEATURES, random.normal(size=2).round(3).tolist(), strict=True))}
                for text in sorted(texts)
            ]
        )
    return lists


TUNED = random_lists(3)
TARGETS = [some[0]["text"] for some in random_lists(4)]


def with_column(judge: Judge) -> list[list[dict[str, object]]]:
    """Return the lists with what a judge says as a feature."""
    return [
        [{**one, "features": {**one["features"], "judge": judge.of(one["text"], target)}} for one in some]
        for some, target in zip(TUNED, TARGETS, strict=True)
    ]


def highest_mean(lists: list[list[dict[str, object]]], sign: float = 1.0) -> float:
    """Return the highest mean of the column for any direction of two weights, by trying all between breakpoints."""
    angles = [0.0, 2.0 * np.pi]
    for some in lists:
        for one in some:
            for other in some:
                x, y = (one["features"][name] - other["features"][name] for name in FEATURES)
                angles += [np.arctan2(-x, y) % (2.0 * np.pi), np.arctan2(x, -y) % (2.0 * np.pi)]
    best = -np.inf
    ordered = sorted(angles)
    for low, high in pairwise(ordered):
        if high - low < 1e-7:
            continue
        direction = np.cos((low + high) / 2.0), np.sin((low + high) / 2.0)
        total = 0.0
        for some in lists:
            scores = [
                sum(d * one["features"][name] for d, name in zip(direction, FEATURES, strict=True)) for one in some
            ]
            total += sign * some[int(np.argmax(scores))]["features"]["judge"]
        best = max(best, total / len(lists))
    return sign * best


@pytest.mark.parametrize("higher", [True, False])
def test_mert_finds_the_highest_mean_of_a_column(higher: bool) -> None:
    lists = with_column(Judge())
    metric = f"column:key=judge,higher_is_better={str(higher).lower()}"
    tuning = toledo.tune_lists(lists, metric=metric)
    assert tuning.best.best_score == pytest.approx(highest_mean(lists, 1.0 if higher else -1.0))
    assert set(tuning.weights) == set(FEATURES)
    assert (tuning.best.metric, tuning.best.higher_is_better) == ("judge", higher)


OBJECTIVES = ["mert:restarts=3", "simplex", "mira", "pro", "regression", "mmi", "expected", "corpus-expected-bleu"]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_function_and_its_column_lead_to_the_same_weights_in_any_unit(objective: str) -> None:
    judge = Judge()
    function = toledo.tune_lists(TUNED, TARGETS, objective=objective, metric=judge)
    assert len(judge.seen) == len(set(judge.seen)) == sum(len(some) for some in TUNED)
    column = toledo.tune_lists(with_column(Judge()), objective=objective, metric="column:judge")
    assert dict(column.weights) == dict(function.weights)
    assert column.best.best_score == function.best.best_score
    for unit, shift in ((1000.0, 0.0), (0.001, -7.0)):
        other = toledo.tune_lists(with_column(Judge(unit, shift)), objective=objective, metric="column:judge")
        assert other.best.best_score == pytest.approx(unit * column.best.best_score + shift, rel=1e-6)
        assert np.array(list(other.weights.values())) == pytest.approx(
            np.array(list(column.weights.values())), rel=0.01, abs=1e-6
        )


def test_sources_rules_and_metrics_without_references() -> None:
    judge, sources = Judge(), [f"s{number}" for number in range(len(TUNED))]
    needs = toledo.utility(judge, needs=("references", "sources"))
    toledo.tune_lists(TUNED, TARGETS, metric=needs, sources=sources, objective="pro")
    assert {source for _, _, source in judge.seen} == set(sources)
    with pytest.raises(InputError, match="needs sources"):
        toledo.tune_lists(TUNED, TARGETS, metric=needs)
    with pytest.raises(InputError, match="needs references"):
        toledo.tune_lists(TUNED, metric=Judge())
    with pytest.raises(InputError, match="lists has 12 segments, sources 2"):
        toledo.tune_lists(TUNED, TARGETS, metric=needs, sources=["a", "b"])
    alone = toledo.utility(Judge(), needs=())
    assert toledo.tune_lists(TUNED, metric=alone, objective="pro").best.metric == "judge"
    chosen = toledo.tune_lists(with_column(Judge()), metric="column:judge", rule=toledo.MBR(Judge()), objective="pro")
    assert chosen.best.metric == "judge"
    with pytest.raises(InputError, match="it needs gradients by counts of n-grams"):
        toledo.tune_lists(TUNED, TARGETS, metric=Judge(), objective="xbleu")


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "whole.jsonl"])
def test_columns_of_tables_are_features_and_what_tuning_maximizes(tmp_path: Path, form: str) -> None:
    lists = with_column(Judge())
    rows = [
        {"id": f"s{segment}", "text": one["text"], **one["features"]}
        for segment, some in enumerate(lists)
        for one in some
    ]
    file = tmp_path / f"lists.{form}"
    if form == "whole.jsonl":
        names = (*FEATURES, "judge")
        whole = [
            {"hypotheses": [one["text"] for one in some], **{n: [one["features"][n] for one in some] for n in names}}
            for some in lists
        ]
        file.write_text("".join(json.dumps(row) + "\n" for row in whole))
    elif form == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        sign = "\t" if form == "tsv" else ","
        file.write_text(
            "".join(sign.join(map(str, row)) + "\n" for row in ([*rows[0]], *(one.values() for one in rows)))
        )
    expected = toledo.tune_lists(lists, metric="column:judge")
    found = toledo.tune_lists(file, metric="column:judge", fields={"feature": FEATURES})
    assert dict(found.weights) == dict(expected.weights)
    options = ("--field", "feature=f0", "--field", "feature=f1", "--weights-only", tmp_path / "weights.toml")
    succeed("tune", "--lists", file, "--metric", "column:judge", *options)
    assert dict(toledo.Weights.load(tmp_path / "weights.toml")) == pytest.approx(dict(expected.weights))
    chosen = succeed("choose", file, "--field", "feature=judge", "--rule", "rerank:feature=judge").splitlines()
    assert chosen == [max(some, key=lambda one: one["features"]["judge"])["text"] for some in lists]


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sample 0 of segment 0 has no number 'comet'"):
        toledo.tune_lists(TUNED, metric="column:comet")
    with pytest.raises(InputError, match="no features to weigh beside 'f0'"):
        toledo.tune_lists([[{"text": "a", "features": {"f0": 1.0}}]], metric="column:f0")
    (tmp_path / "lists.tsv").write_text("id\ttext\tlm\n0\ta\t-1\n0\tb\tnone\n")
    shown = fail("tune", "--lists", tmp_path / "lists.tsv", "--metric", "column:lm", "--weights-only", tmp_path / "w")
    assert "lists.tsv:3: 'none' is not a number" in shown
    shown = fail("tune", "--lists", tmp_path / "lists.tsv", "--metric", "column:qe", "--weights-only", tmp_path / "w")
    assert "lists.tsv:2: no number 'qe' for hypothesis 0" in shown
    with pytest.raises(InputError, match="returned nan"):
        toledo.evaluate(["a"], ["b"], metrics=lambda h, r, s: [float("nan")])


COLUMNS = {"A": [0.8, 0.7, 0.9, 0.4], "B": [0.85, 0.7, 0.6, 0.3]}


def write_systems(folder: Path, form: str) -> tuple[list[Path], str]:
    """Write the texts and scores of two systems; return the files of systems and the metric."""
    files = [folder / f"{name}.{form}" for name in COLUMNS]
    for file, (name, scores) in zip(files, COLUMNS.items(), strict=True):
        if form == "jsonl":
            file.write_text("".join(json.dumps({"text": f"{name} {one}", "COMET": one}) + "\n" for one in scores))
        elif form == "tsv":
            file.write_text("COMET\n" + "".join(f"{one}\n" for one in scores))
        elif form == "csv":
            file.write_text("mt,COMET\n" + "".join(f'"{name}, text",{one}\n' for one in scores))
        else:
            file.write_text("".join(f"{name} text\n" for _ in scores))
    score_file = folder / "COMET.seg.score"
    if form == "txt":
        score_file.write_text("".join(f"{name}\t{one}\n" for name, scores in COLUMNS.items() for one in scores))
    elif form == "en":
        score_file.write_text("A\tB\n" + "".join(f"{a}\t{b}\n" for a, b in zip(*COLUMNS.values(), strict=True)))
    return files, f"column:{score_file}" if form in ("txt", "en") else "column:COMET"


@pytest.mark.parametrize("form", ["jsonl", "tsv", "csv", "txt", "en"])
def test_columns_of_systems_have_means_and_the_same_tests_as_functions(tmp_path: Path, form: str) -> None:
    files, metric = write_systems(tmp_path, form)
    found = toledo.compare({file.stem: file for file in files}, metrics=metric)
    given = toledo.compare(
        {name: toledo.ScoredTexts(["x"] * 4, {"COMET": scores}) for name, scores in COLUMNS.items()},
        metrics="column:COMET",
    )
    known = {f"{name} {place}": one for name, scores in COLUMNS.items() for place, one in enumerate(scores)}

    def comet(hypotheses: Texts, references: Texts, sources: Texts | None) -> Scores:
        return [known[one] for one in hypotheses]

    texts = {name: [f"{name} {place}" for place in range(4)] for name in COLUMNS}
    asked = toledo.compare(texts, metrics=toledo.utility(comet, needs=()))
    for one in (found, given):
        for name, scores in COLUMNS.items():
            assert one[name]["comet"].score == pytest.approx(sum(scores) / len(scores))
            assert one[name]["comet"].interval == asked[name]["comet"].interval
            assert one[name].segments["comet"].tolist() == scores
        assert [test.p for test in one.tests] == [test.p for test in asked.tests]
        assert one.tests[0].difference == pytest.approx(-0.0875)
    assert "0.7000" in succeed("compare", *files, "--metric", metric)
    assert "0.7000" in succeed("evaluate", files[0], "--metric", metric)


@pytest.mark.parametrize(
    ("content", "metric", "message"),
    [
        ("text\tCOMET\na\t1\n", "column:BLEURT", "A.tsv:2: no column 'BLEURT'"),
        ("text\tCOMET\na\tnan\n", "column:COMET", "A.tsv:2: 'nan' in column 'COMET' is not a number"),
        ("COMET\n1\n2\n", "bleu", "has no texts for metric BLEU"),
        ("COMET\n1\n2\n", "column:s.score", "has 1 scores for 3 segments"),
    ],
)
def test_columns_of_systems_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, metric: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("A.tsv").write_text(content)
    Path("s.score").write_text("A\t1\n")
    more = ("--metric", "column:COMET") if metric == "bleu" else ()
    shown = fail("evaluate", "A.tsv", "--metric", metric, *more)
    assert message in shown
    assert "remedy" in shown


def test_scores_of_other_systems(tmp_path: Path) -> None:
    files, metric = write_systems(tmp_path, "txt")
    other = tmp_path / "C.txt"
    other.write_text("a\n" * 4)
    assert "no scores of 'C'" in fail("compare", files[0], other, "--metric", metric)
    (tmp_path / "COMET.seg.score").write_text("A\t1\nB\tNone\n")
    assert "COMET.seg.score:2: 'None' is not a score" in fail("compare", *files, "--metric", metric)
    (tmp_path / "COMET.seg.score").write_text("A\t1\nB\t1\nA\t1\nB\t2\n")
    assert "not together" in fail("compare", *files, "--metric", metric)
    assert "plain text, which has no column" in fail("compare", *files, "--metric", "column:COMET")
    with pytest.raises(InputError, match="2 scores for 1 segments"):
        toledo.ScoredTexts(["a"], {"COMET": [1.0, 2.0]})
    with pytest.raises(InputError, match="has nan for segment 1"):
        toledo.ScoredTexts(None, {"COMET": [1.0, float("nan")]})
    with pytest.raises(InputError, match="no column 'COMET'"):
        toledo.evaluate(["a"], metrics="column:COMET")
