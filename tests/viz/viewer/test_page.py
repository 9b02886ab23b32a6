"""A run as one HTML file: its contents, its size, and that text from users is nothing but text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import headlight
from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.support.saved_page import SENTENCES, all_chosen, blocks, chosen, unpacked
from transformer.analysis.receipts.receipt import Receipt
from viz.viewer import contents
from viz.viewer.choice import Choice, default_choice
from viz.viewer.packed import pack_run
from viz.viewer.page import Heading, PageScene, ShownRun, file_name, page, page_overhead, scenes_page
from viz.viewer.viewer_run import ViewerRun, view_run, view_weights

HOSTILE = '<script>alert(1)</script> </script> "><img src=x onerror=alert(2)> \u202eabc\x00\ud800 &amp;'
HEADING = Heading("I saw a cat.", "Ho visto un gatto.", "tiny")


def tiny() -> ViewerRun:
    loaded = tiny_model()
    return view_run(headlight.run(loaded, "the cat saw a dog").computed, loaded)


def random_weights(layers: int, heads: int, tokens: int) -> list[NDArray[np.float32]]:
    scores = np.random.default_rng(5).normal(0, 2, (layers, heads, tokens, tokens)).astype(np.float32)
    raised = np.exp(scores)
    return list((raised / raised.sum(-1, keepdims=True)).astype(np.float32))


def to_fixed(value: float, decimals: int) -> Decimal:
    """Round as a browser does: halves go up."""
    return Decimal(value).quantize(Decimal(10) ** -decimals, ROUND_HALF_UP)


class Elements(HTMLParser):
    """The elements of a page, as a browser parses them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("tokens, most", [(16, 500_000), (64, 1_000_000)])
def test_a_run_of_the_shipped_model_is_small_enough_for_a_mail(tokens: int, most: int) -> None:
    loaded = headlight.open("en-it")
    run = headlight.run(loaded, *SENTENCES[tokens])
    viewed = view_run(run.computed, loaded, typed=run.typed)
    assert viewed.longest == tokens
    if tokens == 64:
        assert {len(side.tokens) for side in viewed.sides.values()} == {64}
    first = default_choice(viewed)
    made = page(viewed, first, Heading(run.text, run.translation, loaded.name))
    assert len(made) < most
    data, arrays = unpacked(made)
    assert data["whole"]
    assert arrays["weights:encoder/values"].shape == (8, 4, tokens, tokens)
    # All heads of the model are in it; in a page of this size, it takes less than half of a percent.
    receipt = arrays["receipt/json"].tobytes()
    assert len(base64.b64encode(gzip.compress(receipt))) < 3000
    read = Receipt.from_json(receipt.decode())
    costs = np.concatenate([arrays[f"costs:{name}/cost"].ravel() for name in viewed.attentions])
    np.testing.assert_array_equal(np.asarray(read.effects, np.float32), costs)
    assert read.inquiry.pairs == (run.typed,)
    for head in range(4):
        record = run.trace.attention("decoder", first.layer, "cross_attn")
        for name in ("weights", "scores"):
            whole = f"{name}:cross/values"
            piece = "head_scores" if name == "scores" else "head"
            own = arrays.get(f"{piece}:cross:{first.layer}:{head}/{name}")
            found = arrays[whole][first.layer, head] if own is None else own
            np.testing.assert_array_equal(found, getattr(record, name)[0, head].numpy())


def test_a_model_as_large_as_bert_fits_too() -> None:
    viewed = view_weights({"encoder": random_weights(12, 12, 16)}, {"encoder": [f"w{i}" for i in range(16)]})
    made = page(viewed, default_choice(viewed), HEADING)
    assert len(made) < 500_000
    data, arrays = unpacked(made)
    assert data["rounded"] == []
    np.testing.assert_array_equal(arrays["weights:encoder/values"], random_weights(12, 12, 16))


@pytest.mark.parametrize("kind", ["rotary", "relative"])
def test_everything_is_there_to_the_last_bit_if_asked_for(kind: str, tmp_path: Path) -> None:
    run = headlight.run(KINDS[kind](), "the cat saw a dog")
    run.to_html(tmp_path / "run.html", everything=True)
    data, arrays = unpacked((tmp_path / "run.html").read_bytes())
    assert data["rounded"] == []
    viewed = view_run(run.computed, run.model)
    for name, attention in viewed.attentions.items():
        assert attention.scores is not None
        assert attention.vectors is not None
        for layer in range(attention.n_layers):
            np.testing.assert_array_equal(arrays[f"weights:{name}/values"][layer], attention.weights(layer))
            np.testing.assert_array_equal(arrays[f"scores:{name}/values"][layer], attention.scores(layer))
            for head in range(attention.n_heads):
                for vector, values in attention.vectors(layer, head).items():
                    np.testing.assert_array_equal(arrays[f"vectors:{name}:{layer}:{head}/{vector}"], values)


def test_a_rounded_weight_is_written_as_the_weight_with_any_decimals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MEDIUM", 0)
    monkeypatch.setattr(contents, "LEVELS", contents.LEVELS[:1])
    weights = random_weights(2, 3, 40)
    # Rounding twice would turn these into 0.13, 0.01 and 0.0005.
    weights[0][0, 0, :4] = [0.12496, 0.00496, 0.000449, 0.125]
    viewed = view_weights({"encoder": weights}, {"encoder": [f"w{i}" for i in range(40)]})
    data, arrays = unpacked(page(viewed, Choice("encoder", 1, 2), HEADING))
    assert data["rounded"] == ["weights:encoder/values"]
    steps = arrays["weights:encoder/values"].astype(np.float64)
    middles = np.where(steps > 0, np.minimum(1, (steps + 0.5) / contents.STEPS), 0).astype(np.float32)
    for decimals in (1, 2, 3, 4):
        expected = [to_fixed(weight, decimals) for weight in np.stack(weights).ravel().tolist()]
        assert [to_fixed(middle, decimals) for middle in middles.ravel().tolist()] == expected
    np.testing.assert_array_equal(arrays["head:encoder:1:2/weights"], weights[1][2])


def test_numbers_that_are_no_weights_are_not_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "LEVELS", contents.LEVELS[:1])
    weights = random_weights(2, 3, 5)
    weights[0][0, 0, 0] = np.nan
    viewed = view_weights({"encoder": weights}, {"encoder": list("abcde")})
    data, arrays = unpacked(page(viewed, default_choice(viewed), HEADING))
    assert data["rounded"] == []
    np.testing.assert_array_equal(arrays["weights:encoder/values"], np.stack(weights))


def test_what_does_not_fit_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    viewed = tiny()
    sizes, notes = [], []
    for count in range(1, len(contents.LEVELS) + 1):
        levels = tuple(replace(level, limit=10**9) for level in contents.LEVELS[:count])
        monkeypatch.setattr(contents, "LEVELS", levels)
        made = page(viewed, Choice("cross", 2, 1), HEADING)
        sizes.append(len(made))
        notes.append(made.decode().partition('<div class="notes">')[2].partition("</div>")[0])
        monkeypatch.undo()
    assert (min(sizes), max(sizes)) == (sizes[0], sizes[-1])
    assert "layer 2, head 1 of the cross-attention are the float32" in notes[0]
    assert "layer 2 of the cross-attention are the float32" in notes[1]
    assert "layer 2 of each attention are the float32" in notes[2]
    assert "those of layer 2, head 1 of each attention." in notes[3]
    assert "Every weight and score" in notes[4]
    assert "those of layer 2 of the cross-attention." in notes[5]
    assert "vectors" not in notes[7]


def test_a_long_run_has_the_maps_of_the_grid_and_the_chosen_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_TRIED", 0)
    weights = random_weights(2, 3, 70)
    viewed = view_weights({"encoder": weights}, {"encoder": [f"w{i}" for i in range(70)]})
    made = page(viewed, Choice("encoder", 0, 1), HEADING)
    data, arrays = unpacked(made)
    assert not data["whole"]
    assert arrays["pooled:encoder/levels"].shape[-1] == 48
    for head in range(3):
        np.testing.assert_array_equal(arrays[f"head:encoder:0:{head}/weights"], weights[0][head])
    query, key = np.unravel_index(int(weights[0][1].argmax()), (70, 70))
    assert chosen(made)["cell"] == [query, key]
    np.testing.assert_array_equal(arrays[f"row:encoder:{query}/values"], np.stack(weights)[:, :, query])


def test_a_long_run_has_all_weights_where_they_fit() -> None:
    weights = random_weights(2, 3, 70)
    viewed = view_weights({"encoder": weights}, {"encoder": [f"w{i}" for i in range(70)]})
    assert unpacked(page(viewed, default_choice(viewed), HEADING))[0]["whole"]


def test_only_the_run_that_it_is_compared_with_comes_along() -> None:
    viewed = replace(tiny(), others={"one": tiny, "two": tiny})
    data, arrays = unpacked(page(viewed, Choice("cross", 2, against="two"), HEADING))
    assert data["others"] == ["two"]
    others = {name for name in arrays if name.startswith("other:")}
    assert {f"other:two:cross:2:{head}/weights" for head in range(3)} <= others
    assert not any(name.startswith("other:one") for name in others)


def test_only_the_script_of_the_page_may_run_and_nothing_may_be_loaded() -> None:
    text = page(tiny(), default_choice(tiny()), HEADING).decode()
    elements = Elements(text).tags
    (policy,) = (
        attributes["content"]
        for tag, attributes in elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    script = text.partition('<script type="module">')[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert policy.split("; ") == [
        "default-src 'none'", f"script-src 'sha256-{digest}'", "style-src 'unsafe-inline'",
        "img-src data:", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    addresses = [
        value for _, attributes in elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert addresses == ["data:,"]


def test_what_a_user_typed_is_text_wherever_it_stands() -> None:
    loaded = tiny_model()
    viewed = view_run(headlight.run(loaded, "the cat saw a dog").computed, loaded)
    sides = {name: replace(side, tokens=(HOSTILE,) * len(side.tokens)) for name, side in viewed.sides.items()}
    plain = Elements(page(viewed, default_choice(viewed), HEADING).decode()).tags
    made = page(
        replace(viewed, sides=sides), default_choice(viewed), Heading(HOSTILE, HOSTILE + "!", HOSTILE)
    )
    hostile = Elements(made.decode()).tags
    assert [tag for tag, _ in hostile] == [tag for tag, _ in plain]
    assert not {"\u202e", "\x00"} & set(made.decode())
    assert "⟨U+202E⟩" in made.decode()


def scenes_of(*packed: ShownRun | None, **texts: str) -> list[PageScene]:
    """One scene per run; None stands for a scene without a run."""
    return [
        PageScene(
            texts.get("title", f"Explore: {number}"),
            "Explore",
            HEADING,
            texts.get("caption", f"Caption {number}"),
            shown,
            (texts.get("note", "It needs the app."),) if shown is None else (),
            ((texts.get("name", "layer"), texts.get("value", "3")),) if shown is None else (),
            texts.get("address", "masks?layer=3") if shown is None else "",
        )
        for number, shown in enumerate(packed)
    ]


def test_three_scenes_of_one_run_are_little_more_than_one() -> None:
    loaded = headlight.open("en-it")
    run = headlight.run(loaded, *SENTENCES[16])
    viewed = view_run(run.computed, loaded)
    choices = [Choice("cross", 3, 1), Choice("encoder", 0, 2, cell=(1, 3)), Choice("decoder", 2, 3)]
    packed = pack_run(viewed, choices, overhead=page_overhead())
    made = scenes_page(scenes_of(*(ShownRun(packed, number) for number in range(3))))
    assert len(made) < 600_000
    assert [choice["attention"] for choice in all_chosen(made)] == ["cross", "encoder", "decoder"]
    _, arrays = unpacked(made)  # of the only run
    for choice in choices:
        attention = viewed.attentions[choice.attention]
        np.testing.assert_array_equal(
            arrays[f"weights:{choice.attention}/values"][choice.layer, choice.head],
            attention.weights(choice.layer)[choice.head],
        )
        assert attention.vectors is not None
        for name, vector in attention.vectors(choice.layer, choice.head).items():
            own = f"vectors:{choice.attention}:{choice.layer}:{choice.head}/{name}"
            np.testing.assert_array_equal(arrays[own], vector)


def test_what_each_scene_shows_is_exact_where_the_rest_is_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MEDIUM", 0)
    monkeypatch.setattr(contents, "LEVELS", contents.LEVELS[:1])
    viewed, choices = tiny(), [Choice("cross", 2, 1), Choice("encoder", 0, 2)]
    packed = pack_run(viewed, choices, overhead=0)
    data, arrays = unpacked(scenes_page(scenes_of(ShownRun(packed, 0), ShownRun(packed, 1))))
    for choice in choices:
        own = arrays[f"head:{choice.attention}:{choice.layer}:{choice.head}/weights"]
        exact = viewed.attentions[choice.attention].weights(choice.layer)[choice.head]
        np.testing.assert_array_equal(own, exact)
    assert "weights:encoder/values" in data["rounded"]
    assert "layer 2, head 1 of the cross-attention; layer 0, head 2 of the encoder" in packed.notes[0]


def test_a_long_run_has_the_row_and_the_layer_of_every_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_TRIED", 0)
    weights = random_weights(3, 2, 70)
    viewed = view_weights({"encoder": weights}, {"encoder": [f"w{i}" for i in range(70)]})
    packed = pack_run(
        viewed, [Choice("encoder", 0, 1, cell=(5, 7)), Choice("encoder", 2)], overhead=page_overhead()
    )
    data, arrays = unpacked(scenes_page(scenes_of(ShownRun(packed, 0), ShownRun(packed, 1))))
    assert not data["whole"]
    first, second = all_chosen(scenes_page(scenes_of(ShownRun(packed, 0), ShownRun(packed, 1))))
    assert first["cell"] == [5, 7]
    for choice in (first, second):
        row = arrays[f"row:encoder:{choice['cell'][0]}/values"]
        np.testing.assert_array_equal(row, np.stack(weights)[:, :, choice["cell"][0]])
        own = arrays[f"head:encoder:{choice['layer']}:{choice['head']}/weights"]
        np.testing.assert_array_equal(own, weights[choice["layer"]][choice["head"]])


def test_many_runs_share_the_room_of_some() -> None:
    viewed = tiny()
    alone, among_many = (
        pack_run(viewed, [default_choice(viewed)], overhead=0, runs=runs) for runs in (10, 1_000)
    )
    assert len(among_many.data) < len(alone.data)
    assert len(pack_run(viewed, [default_choice(viewed)], overhead=0).data) == len(alone.data)


def test_only_the_first_scene_is_seen_before_its_script_runs() -> None:
    viewed = tiny()
    packed = [pack_run(viewed, [default_choice(viewed)], overhead=page_overhead()) for _ in range(2)]
    made = scenes_page(scenes_of(ShownRun(packed[1]), None, ShownRun(packed[0]), ShownRun(packed[1])))
    elements = Elements(made.decode()).tags
    sections = [attributes for tag, attributes in elements if tag == "section"]
    assert ["hidden" in attributes for attributes in sections] == [False, True, True, True]
    assert [attributes["aria-label"] for attributes in sections] == [f"Explore: {i}" for i in range(4)]
    assert [attributes["data-run"] for _, attributes in elements if "data-run" in attributes] == [
        "0",
        "1",
        "0",
    ]
    assert len(blocks(made, "run")) == 2
    assert "<title>Caption 0 · Headlight</title>" in made.decode()


def test_a_page_of_one_run_has_nothing_to_step_through() -> None:
    elements = Elements(page(tiny(), default_choice(tiny()), HEADING).decode()).tags
    assert [attributes for tag, attributes in elements if tag == "section"] == [{}]


def test_what_a_user_typed_is_text_in_every_place_of_a_scene() -> None:
    viewed = tiny()
    packed = pack_run(viewed, [default_choice(viewed)], overhead=page_overhead())
    heading = Heading(HOSTILE, f"{HOSTILE}!", HOSTILE)
    names = ("title", "caption", "note", "name", "value", "address")
    texts = dict.fromkeys(names, f"{HOSTILE} \u2028 ${{script}} ' </section>")
    hostile = [replace(scene, heading=heading) for scene in scenes_of(ShownRun(packed), None, **texts)]
    made = scenes_page(hostile).decode()
    plain = scenes_page(scenes_of(ShownRun(packed), None)).decode()
    assert [tag for tag, _ in Elements(made).tags] == [tag for tag, _ in Elements(plain).tags]
    assert all(
        attributes.keys() == other.keys()
        for (_, attributes), (_, other) in zip(Elements(made).tags, Elements(plain).tags, strict=True)
    )
    assert not {"\u202e", "\u2028", "\x00"} & set(made)


@pytest.mark.parametrize(
    "sentence, name",
    [
        ("I saw a cat.", "headlight-i-saw-a-cat.html"),
        ("../../etc/passwd", "headlight-etc-passwd.html"),
        ('CON: "a|b?*<c>"\n\x00', "headlight-con-a-b-c.html"),
        ("È già l'ora", "headlight-è-già-l-ora.html"),
        ("猫を見た。", "headlight-猫を見た.html"),
        ("?!", "headlight-view.html"),
        ("", "headlight-empty.html"),
        ("a" * 300, f"headlight-{'a' * 40}.html"),
        ("a word and some " * 9, "headlight-a-word-and-some-a-word-and-some-a-word.html"),
    ],
)
def test_a_file_is_named_after_the_first_words(sentence: str, name: str) -> None:
    assert file_name(sentence) == name
    assert re.fullmatch(r"headlight-[\w-]+\.html", name)


def test_a_page_is_the_same_whenever_it_is_made() -> None:
    viewed = tiny()
    assert page(viewed, default_choice(viewed), HEADING) == page(viewed, default_choice(viewed), HEADING)


def test_what_is_asked_for_is_chosen(tmp_path: Path) -> None:
    run = headlight.run(tiny_model(), "the cat saw a dog")
    run.to_html(tmp_path / "a.html")
    told = chosen((tmp_path / "a.html").read_bytes())
    first = default_choice(view_run(run.computed, run.model))
    assert [told[name] for name in ("attention", "layer", "head", "view")] == [
        "cross",
        first.layer,
        first.head,
        "head",
    ]
    run.to_html(str(tmp_path / "a.html"), attention="encoder", head=2, view="layer", cell=(1, 3))
    told = chosen((tmp_path / "a.html").read_bytes())
    assert (told["attention"], told["layer"], told["head"], told["view"]) == ("encoder", 1, 2, "layer")
    assert told["cell"] == [1, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_what_can_not_be_written_is_refused_in_words(tmp_path: Path) -> None:
    run = headlight.run(KINDS["masked"](), "the cat saw a dog")
    path = tmp_path / "a.html"
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        run.to_html(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*: make it first"):
        run.to_html(tmp_path / "none" / "a.html")
    with pytest.raises(ValueError, match="has no attention 'cross'"):
        run.to_html(path, attention="cross")
    with pytest.raises(ValueError, match=r"There is no layer 3: .* has 0 to 2"):
        run.to_html(path, layer=3)
    with pytest.raises(ValueError, match="There is no view 'grid': choose one of 'head'"):
        run.to_html(path, view="grid")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"There is no key 7: .* has 0 to 6"):
        run.to_html(path, cell=(0, 7))
    assert not path.exists()
