"""Tables and numbers."""

import pytest

from toledo.results import TableResult
from toledo.view.markup import Markup
from toledo.view.tables import facts, fixed, table


@pytest.mark.parametrize(
    ("value", "digits", "sign", "text"),
    [
        (1234.567, 2, False, "1,234.57"), (-0.5, 1, False, "−0.5"), (0.81, 2, True, "+0.81"), (-1.2, 1, True, "−1.2"),
        (-0.001, 2, True, "0.00"), (0.001, 2, True, "0.00"), (0.0, 1, False, "0.0"),
    ],
)  # fmt: skip
def test_numbers_have_a_real_minus_and_no_signed_zero(value: float, digits: int, sign: bool, text: str) -> None:
    assert fixed(value, digits, sign) == text


def test_columns_of_numbers_are_aligned_right() -> None:
    found = table(["name", "score", "drawn", "mixed"], [["<a>", 1.5, Markup("<i></i>"), "x"], ["b", None, "", 2]])
    assert '<td>&lt;a&gt;</td><td class="number">1.5</td><td><i></i></td><td>x</td>' in found
    assert '<td>b</td><td class="number"></td><td></td><td>2</td>' in found
    assert '<th class="number" scope="col">score</th>' in found


def test_what_a_phone_can_do_without_and_the_best_row() -> None:
    found = table(["a", "b"], [["x", "1"], ["y", "2"]], optional=[1], best=1)
    assert found.count('class="number optional"') == 3
    assert '<tr class="best"><td>y</td>' in found


def test_facts() -> None:
    assert facts([("BLEU", "40.1")]) == '<dl class="facts"><div><dt>BLEU</dt><dd>40.1</dd></div></dl>'


class Numbers(TableResult):
    def rows_as_dicts(self) -> list[dict[str, object]]:
        return [{"name": f"<{number}>", "value": number / 4} for number in range(100)]


def test_notebooks_show_the_first_rows_of_results() -> None:
    found = Numbers()._repr_html_()
    assert '<tr><td>&lt;3&gt;</td><td class="number">0.75</td></tr>' in found
    assert found.count("<tr>") == 61  # with the header
    assert found.endswith("<p>60 of 100 rows</p>")
