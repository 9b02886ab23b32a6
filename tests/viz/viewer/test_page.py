"""A run as one HTML file: its contents, its size, and that text from users is nothing but text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import headlight
from tests.support.kinds import KINDS
from tests.support.models import tiny_model
from tests.support.saved_page import SENTENCES, chosen, unpacked
from tests.viz.viewer.pages import HEADING, HOSTILE, Elements, random_weights, tiny, to_fixed
from transformer.analysis.receipts.receipt import Receipt
from viz.viewer import contents
from viz.viewer.choice import Choice, default_choice
from viz.viewer.page import Heading, file_name, page
from viz.viewer.viewer_run import view_run, view_weights


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


def test_a_page_of_one_run_has_nothing_to_step_through() -> None:
    elements = Elements(page(tiny(), default_choice(tiny()), HEADING).decode()).tags
    assert [attributes for tag, attributes in elements if tag == "section"] == [{}]


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
