"""Heads: the page has the numbers of `analyze`, opens results of the command, and compares two."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.app import HOSTILE, open_app, press, texts
from tests.pages.figures import array, assert_names_its_code, figure
from tests.pages.views import Views
from tests.support.kinds import KINDS
from transformer.analysis.roles.analysis import analyze
from transformer.analysis.roles.definitions import ROLES, Role
from transformer.analysis.roles.report import HeadReport
from transformer.checkpoints.opening import open_model
from viz.pages.heads.roles import _csv, ordered
from viz.pages.heads.session import _PART, _PLACE, example_pairs
from viz.run_figures.roles import label_of
from viz.session import ModelChoice

FILE = "A result of headlight analyze"
CHOICE = ModelChoice("toy-en-it", None, "cpu")


@pytest.fixture(scope="module")
def report() -> HeadReport:
    """The result that the page computes for toy-en-it."""
    return analyze(open_model("toy-en-it"), example_pairs(CHOICE), part_size=_PART)


def with_file(report: HeadReport | None, **address: str) -> AppTest:
    """The page with an uploaded result."""
    app = open_app("heads", heads_from=FILE, **address)
    if report is not None:
        content = json.dumps(report.to_dict()).encode()
        app.file_uploader(key="heads_upload").upload("heads.json", content, "application/json").run()
    assert not app.exception
    return app


def test_the_table_and_the_points_have_the_scores(report: HeadReport) -> None:
    app = open_app("heads", heads_x="special tokens", heads_y="fixed offset")
    assert not app.exception
    assert f"{len(report.heads)} heads over {report.n_sentences} sentences" in texts(app)
    assert_names_its_code(app)
    table, rows = app.dataframe[0].value, ordered(report)
    assert len(table) == len(rows)
    for one, (_, shown) in zip(rows, table.iterrows(), strict=True):
        assert shown["head"] == f"{one.attention} {one.layer}.{one.head}"
        if one.role is None:
            assert shown["role"] == "none"
        else:
            score = one.scores[one.role]
            assert [shown["score"], shown["from"], shown["to"]] == [score.score, score.low, score.high]
            assert shown["strongest sentence"] == report.texts[score.examples[0].text][0]
    drawn = figure(app, "heads_scatter")["data"]
    points = [one for one in drawn if one["name"] != "chosen"]
    found = np.concatenate([array(one["x"]) for one in points])
    np.testing.assert_allclose(found, [one.scores["special"].score for one in report.heads])
    assert [one["name"] for one in drawn][-1] == "chosen"


def test_a_role_leaves_the_heads_that_have_learned_it(report: HeadReport) -> None:
    app = open_app("heads")
    picker = app.selectbox(key="heads_with")
    learned = {role for one in report.heads for role in one.learned}
    assert picker.options == ["all", *(label_of(role) for role in ROLES if role in learned), "none"]
    for name in picker.options[1:]:
        app.selectbox(key="heads_with").set_value(name).run()
        assert not app.exception
        found = set(app.dataframe[0].value["head"])
        assert found == {
            f"{one.attention} {one.layer}.{one.head}"
            for one in report.heads
            if name in ([label_of(role) for role in one.learned] or ["none"])
        }
    assert set(open_app("heads", heads_with="none").dataframe[0].value["head"]) == found
    assert app.dataframe[0].value["score"].isna().all()
    assert app.dataframe[0].proto.placeholder == "–", "instead of None"


def test_the_command_is_given_with_the_format_of_its_file(report: HeadReport) -> None:
    few, file = open_app("heads"), with_file(None)
    for app in (few, file):
        assert "`headlight analyze --model MODEL --pairs FILE --out FOLDER`" in texts(app)
        assert "FILE has one pair per line: source, tab, target." in texts(app)


def test_a_chosen_head_opens_its_sentence_on_explore(report: HeadReport) -> None:
    head = next(one for one in report.heads if one.role == "alignment")
    app = open_app("heads", **{_PLACE: f"cross {head.layer}.{head.head}"})
    assert f"Cross-attention, layer {head.layer}, head {head.head}" in texts(app)
    example = head.scores["alignment"].examples[0]
    press(app, "Open on Explore")
    state = app.session_state
    assert (state["text"], state["target"]) == report.texts[example.text]
    assert (state["attention"], state["layer"], state["head"]) == ("cross", head.layer, head.head)
    assert state["cell"] == f"{example.query},{example.key}"
    assert state["rows"] == "written", "as the example names its row"


@pytest.mark.parametrize(
    "attention, role, detail, rows",
    [
        ("cross", "alignment", 0, "written"),
        ("cross", "alignment", 1, "read"),
        ("decoder", "same", 0, "read"),
        ("encoder", "same", 0, "written"),
    ],
)
def test_explore_opens_at_the_example_s_row_under_the_example_s_name(
    views: Views, report: HeadReport, attention: str, role: Role, detail: int, rows: str
) -> None:
    """A decoder's row is named by the token it reads, but by the one it writes where it aligns that token."""
    head = next(one for one in report.heads if one.attention == attention)
    score = replace(head.scores[role], detail=detail)
    if detail:  # the row after the one that writes a word reads it
        score = replace(score, examples=tuple(replace(one, query=one.query + 1) for one in score.examples))
    changed = replace(head, learned=(role,), scores={role: score})
    heads = tuple(changed if one is head else one for one in report.heads)
    app = with_file(replace(report, heads=heads), **{_PLACE: f"{attention} {head.layer}.{head.head}"})
    assert ("token that the decoder *reads*" in texts(app)) is (rows == "read")
    press(app, "Open on Explore")
    choice, data = views.choice("viewer"), views.data("viewer")
    assert (choice["attention"], choice["rows"]) == (attention, rows)
    side = data["sides"]["encoder" if attention == "encoder" else "decoder"]
    names = side["written"] if rows == "written" and attention == "cross" else side["tokens"]
    assert names[choice["cell"][0]] == score.examples[0].query_token


def test_a_result_of_another_model_is_shown_but_not_opened() -> None:
    app = with_file(analyze(KINDS["prompted"](), [("I see the dog.", ""), ("the cat saw the cat", "")]))
    assert "9 heads over 2 sentences" in texts(app)
    assert "choose the model prompted" in texts(app)
    assert all(button.label != "Open on Explore" for button in app.button)


def test_hostile_results_are_refused_or_shown_literally(report: HeadReport) -> None:
    values = report.to_dict()
    values["model"] = HOSTILE["directive"] + HOSTILE["script"] + HOSTILE["remote picture"]
    values["texts"] = [[HOSTILE["remote picture"], HOSTILE["formula"]] for _ in values["texts"]]
    for head in values["heads"]:
        for score in head["scores"].values():
            score["examples"] = [(*one[:3], HOSTILE["script"], "\u202e", one[5]) for one in score["examples"]]
    app = with_file(HeadReport.from_json(json.dumps(values).encode()))
    markdown = "".join(
        str(getattr(one, "value", "")) for kind in ("markdown", "caption") for one in app.get(kind)
    )
    assert "![](" not in markdown
    assert "<script>" not in markdown
    assert "\u202e" not in texts(app)
    for content, message in ((b"{}", "not the result of an analysis"), (b"\xff", "not JSON")):
        app = open_app("heads", heads_from=FILE)
        app.file_uploader(key="heads_upload").upload("heads.json", content, "application/json").run()
        assert not app.exception
        assert message in texts(app)


def test_two_results_are_compared(report: HeadReport) -> None:
    app = with_file(report, section="What changed")
    assert "only one result so far" in app.info[0].value
    content = json.dumps(report.to_dict()).encode()
    app.file_uploader(key="heads_before").upload("heads.json", content, "application/json").run()
    assert not app.exception
    assert "no head changed" in texts(app)
    assert (app.dataframe[0].value["looks"] == 0).all()
    assert_names_its_code(app)
    other = analyze(open_model("toy-en-it"), example_pairs(CHOICE)[:3])
    content = json.dumps(other.to_dict()).encode()
    app.file_uploader(key="heads_before").upload("heads.json", content, "application/json").run()
    assert "read different tokens" in texts(app)


def test_the_file_has_every_score(report: HeadReport) -> None:
    table = pd.read_csv(StringIO(_csv(report).decode()))
    assert len(table) == sum(len(one.scores) for one in report.heads)
    assert table["learned"].sum() == sum(len(one.learned) for one in report.heads)


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("kind", ["prompted", "masked", "reader", "relative"])
def test_every_kind_is_measured_or_says_what_to_do(kind: str) -> None:
    app = open_app("heads", model=kind)
    assert not app.exception
    if kind in ("reader", "relative"):  # no translations, or no sentences, come with these
        assert "headlight analyze" in app.info[0].value or "analyze --model" in app.info[0].value
    else:
        assert "heads have no role" in texts(app)
        assert "Not measured: " in texts(app)
