import numpy as np
import pytest

from viz.figures.numbers import number, span, written


@pytest.mark.parametrize(
    "value, digits, text",
    [
        (0.75, 3, "0.750"),
        (-0.25, 2, "−0.25"),
        (-0.0, 2, "0.00"),
        (-0.0004, 3, "0.000"),
        (-0.0006, 3, "−0.001"),
        (-0.4, 0, "0"),
        (-10.0, 0, "−10"),
        (float("-inf"), 2, "−inf"),
    ],
)
def test_one_minus_and_none_before_zero(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text


def test_a_span_is_one_number_where_all_are_written_the_same() -> None:
    assert span(np.array([0.998, 1.002])) == "1.00"
    assert span(np.array([0.713, -0.5])) == "−0.50 to 0.71"


def test_written_numbers_keep_their_shape() -> None:
    np.testing.assert_array_equal(
        written(np.array([[-0.0, -1.5]]), 1), np.array([["0.0", "−1.5"]], dtype=object)
    )
