from itertools import pairwise

import plotly.graph_objects as go
import pytest

from viz.theme import PALETTES, Theme, color_scale, palette, template

THEMES = list(PALETTES.values())


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two #rrggbb colours, 1 to 21, as WCAG 2.1 defines it ("relative luminance")."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    channels = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def luminance_order(stops: tuple[str, ...]) -> list[float]:
    return [contrast(stop, "#000000") for stop in stops]


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_text_is_readable_on_every_background_it_stands_on(theme: Theme) -> None:
    for ink in (theme.text, theme.muted, theme.accent, theme.warning):
        for paper in (theme.background, theme.surface):
            assert contrast(ink, paper) >= 4.5, (ink, paper)
    assert contrast(theme.text, theme.masked) >= 4.5


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_sequential_scale_starts_at_the_page_and_changes_lightness_steadily(theme: Theme) -> None:
    assert theme.sequential[0] == theme.background
    order = luminance_order(theme.sequential)
    steps = [after - before for before, after in pairwise(order)]
    assert all(step < 0 for step in steps) or all(step > 0 for step in steps)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_diverging_scale_is_symmetric_in_lightness_about_its_middle(theme: Theme) -> None:
    assert len(theme.diverging) % 2 == 1
    order = luminance_order(theme.diverging)
    half = len(order) // 2
    left, right = order[: half + 1], order[half:]
    rising = theme.name == "light"
    assert left == sorted(left, reverse=not rising)
    assert right == sorted(right, reverse=rising)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_a_closed_cell_is_not_taken_for_an_empty_one(theme: Theme) -> None:
    assert theme.masked not in theme.sequential + theme.diverging
    assert contrast(theme.hatch, theme.masked) >= 1.4
    assert contrast(theme.masked, theme.background) >= 1.3


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_series_differ_by_color_or_dash(theme: Theme) -> None:
    looks = {(theme.color(index), theme.dash(index)) for index in range(16)}
    assert len(looks) == 16
    for color in theme.categorical[:4]:
        assert contrast(color, theme.background) >= 2.5, color


def test_contrast_is_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == pytest.approx(1)


def test_template_has_readable_text_and_no_remote_font() -> None:
    for theme in THEMES:
        layout = template(theme).layout
        assert layout.font.size >= 14
        assert layout.hoverlabel.font.size >= 14
        assert layout.paper_bgcolor == theme.background
        assert "http" not in go.Figure(layout={"template": template(theme)}).to_json()


def test_color_scale_spaces_its_stops_evenly() -> None:
    assert color_scale(("#000000", "#777777", "#ffffff")) == [
        [0, "#000000"],
        [0.5, "#777777"],
        [1, "#ffffff"],
    ]


def test_unknown_theme() -> None:
    with pytest.raises(KeyError):
        palette("sepia")  # type: ignore[arg-type]  # what a caller without a type checker may pass
