"""Reports, example data, names and warm-up in Python."""

from pathlib import Path

import pytest
from pages import check_page
from small_histories import TRACE, refinement, tuning, write_all

import toledo
from toledo.api.names import REGISTRIES, list_names
from toledo.refinement.settings import RefineSettings


def test_runs_and_results_on_one_page(tmp_path: Path) -> None:
    write_all(tmp_path / "runs")
    references = ["a small house", "it is old", "yes"] * 10
    hypotheses = ["a small house", "it was old", "no"] * 10
    evaluation = toledo.evaluate(hypotheses, references, resamples=50)
    comparison = toledo.compare({"one": hypotheses, "two": references}, references, resamples=50)
    choice = toledo.choose(["a <b> house", "a house", "the house"])
    page = toledo.report(str(tmp_path / "runs" / "mert"), evaluation, comparison, choice, title="All")
    assert page.headings[:2] == ["Tuning: mert", "Scores: evaluation"]
    assert repr(page) == "Page('All', 4 headings)"
    page.save(tmp_path / "page.html")
    text = check_page(tmp_path / "page.html")
    assert text == page.html
    assert '<nav aria-label="Contents"' in text
    assert f"{evaluation['bleu'].score:.2f}" in text
    assert "±: half the width of the confidence interval" in text
    assert "against “one”" in text
    assert "a &lt;b&gt; house" in text or "a house" in text
    assert page._repr_html_().startswith("<iframe srcdoc=")


def test_results_of_runs_look_like_their_files() -> None:
    histories = tuple(tuning("mert", [40.0, 44.0 + seed], seed) for seed in (1, 2))
    tuned = toledo.Tuning(None, toledo.Weights({}), histories, histories[1])
    refined = toledo.Refinement(None, refinement(), RefineSettings())  # type: ignore[arg-type]
    names = dict.fromkeys(str(row["document"]) for row in TRACE)
    translated = tuple(toledo.TranslatedDocument(name, ("a", "b"), 0.0, {}, 512, 10) for name in names)
    documents = toledo.DocumentTranslation(translated, trace=tuple(TRACE))
    page = toledo.report(tuned, refined, documents)
    assert page.headings == ["Tuning: mert", "Refinement: refinement", "Documents: trace"]
    assert "2 runs: min 45.00, max 46.00" in page.html
    assert "first &lt;1&gt;" in page.html
    assert "<dt>segments</dt><dd>4</dd>" in page.html


def test_errors_of_reports() -> None:
    with pytest.raises(toledo.InputError, match="nothing to show"):
        toledo.report()
    with pytest.raises(toledo.InputError, match="scale is 0"):
        toledo.report("x", scale=0)


def test_example_data() -> None:
    data = toledo.example_data(train=30, tune=4, test=5, seed=3)
    assert (len(data.train), len(data.tune), len(data.test)) == (30, 4, 5)
    assert data.train.targets == data.train.references[0]
    assert len(data.test.references) == 2
    assert data.to_dict()["signature"] == "train:30|tune:4|test:5|seed:3"
    assert toledo.evaluate(data.test.targets, data.test.references)["bleu"].score == pytest.approx(100.0)
    with pytest.raises(toledo.InputError, match="`seed` is -1, expected an int of at least 0"):
        toledo.example_data(seed=-1)


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_kind_has_names_with_help(kind: str) -> None:
    found = list_names(kind)
    assert found.names
    assert all(one.help for one in found.names)
    assert [line.partition(":")[0] for line in str(found).splitlines() if not line.startswith("  ")] == [
        one.name for one in found.names
    ]


def test_without_a_kind_all_kinds_are_listed_with_their_names() -> None:
    found = {one.name: one.help for one in list_names().names}
    assert [*found] == [*REGISTRIES]
    assert found["utilities"] == "bleu, bleu+1, bleu+0.01, chrf, ter, mean."


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(toledo.UnknownNameError, match="did you mean 'metrics'"):
        list_names("metric")
