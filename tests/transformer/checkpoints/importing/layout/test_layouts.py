"""Layouts in files: their names are our model's, and a wrong file is refused by a sentence."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from transformer.checkpoints.importing.layout import shipped
from transformer.checkpoints.importing.layout.config_section import ENTRIES, GROUPS, OF_LAYERS
from transformer.checkpoints.importing.layout.file import SECTIONS, Layout, overlaid, read_layout
from transformer.checkpoints.importing.layout.operations import OPERATIONS
from transformer.checkpoints.importing.layout.plain_yaml import read_yaml
from transformer.checkpoints.importing.layout.section_reader import CONDITIONS, plain_value
from transformer.checkpoints.importing.recognition import plan_import, with_mapping
from transformer.errors import CheckpointError

DOCUMENT = Path(__file__).parents[5] / "docs" / "checkpoints.md"
FILES = list(shipped.files())


def read_as_a_users(name: str) -> Layout:
    """A layout read as a mapping file is: by the parser in Python, with all names of ours checked."""
    text = shipped.files()[name].read_text()
    return read_layout(text, name, f"{name}.yaml", lambda base, *_: read_as_a_users(base))


def test_no_two_layouts_have_one_name() -> None:
    assert len(FILES) == len(list(shipped.FOLDER.rglob("*.yaml")))


def test_everything_that_a_file_may_say_is_documented() -> None:
    told = set(
        re.findall("[a-z_0-9]+", DOCUMENT.read_text(encoding="utf-8").partition("## Describe your own")[2])
    )
    powers = {*OPERATIONS, *CONDITIONS, *GROUPS, *ENTRIES, *OF_LAYERS, *SECTIONS, "like"} - {"as_it_is"}
    assert powers <= told, powers - told


@pytest.mark.parametrize("name", FILES)
def test_a_layout_of_headlights_is_a_mapping_file(name: str) -> None:
    layout = read_as_a_users(name)
    for _, sections in layout.variants:
        overlaid(layout, sections)
    if not name.startswith("_"):
        assert layout.label
        assert layout.recognise


JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 1e300, "x", "w_1", "{}", "=d_model", "norm"),
    *([], [1], ["a", ["b"]], {}, {"a": {"b": 1}}, {"to": 3}, {"when": {"has": [1]}}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside a file's."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*path, key))


def spoiled(name: str, rng: random.Random) -> str:
    """The file of a layout, as JSON, with one of its values replaced."""
    text = shipped.files()[name].read_text()
    value = plain_value(read_yaml(text, name))
    value.pop("recognise", None)
    *path, last = rng.choice([*places(value)][1:])
    inside = value
    for key in path:
        inside = inside[key]
    inside[last] = rng.choice(JUNK)
    return json.dumps(value)


def fitting(layout: Layout) -> dict[str, Tensor]:
    """Tensors of two layers by a layout's names, with plausible shapes."""
    state_dict: dict[str, Tensor] = {}
    for theirs, into in layout.names.items():
        ours = into.names[0]
        width = 12 if "feed_forward.w" in ours and "w_2" not in ours else 8 * len(into.names)
        is_vector = ours.endswith(("gamma", "beta", "bias"))
        shape = (width,) if is_vector else (width, 12 if "w_2" in ours else 8)
        state_dict |= {theirs.replace("{}", str(i)): torch.zeros(shape) for i in (0, 1)}
    return state_dict


@pytest.mark.parametrize("seed", range(40))
def test_a_wrong_mapping_file_is_refused_by_a_sentence(tmp_path: Path, seed: int) -> None:
    """Whatever stands in place of one value, nothing but CheckpointError is raised."""
    rng = random.Random(seed)
    name = rng.choice(FILES)
    config = rng.choice([None, {"hidden_size": 8, "num_attention_heads": rng.choice([2, "a", 0, -1])}])
    raw = raw_of(tmp_path, fitting(shipped.layout(name)), config)
    for _ in range(3):
        with suppress(CheckpointError):
            plan_import(with_mapping(raw, spoiled(name, rng)), {})


def read(names: str) -> Layout:
    return read_layout(f"names:\n{names}", "own", "The mapping file", lambda *_: Layout("", ""))


def test_beginnings_share_the_names_below_them() -> None:
    layout = read(
        "  enc.{}.att, dec.{}.att2:\n"
        "    at: encoder.layers.{}.self_attn, decoder.layers.{}.cross_attn\n"
        "    q: w_q.weight\n"
        "  dec.{}, dec.l{}:\n"
        "    at: decoder.layers.{}\n"
        "    up: feed_forward.w_1.bias\n"
    )
    assert {theirs: into.names for theirs, into in layout.names.items()} == {
        "enc.{}.att.q": ("encoder.layers.{}.self_attn.w_q.weight",),
        "dec.{}.att2.q": ("decoder.layers.{}.cross_attn.w_q.weight",),
        "dec.{}.up": ("decoder.layers.{}.feed_forward.w_1.bias",),
        "dec.l{}.up": ("decoder.layers.{}.feed_forward.w_1.bias",),
    }


@pytest.mark.parametrize(
    "names, sentence",
    [
        ("  a, b, c:\n    at: encoder, decoder\n    x: final_norm\n", "needs one name of ours for each"),
        ("  a:\n    at: encoder, decoder\n    x: final_norm\n", "needs one name of ours for each"),
        ("  a, b:\n    at: encoder\n    c:\n      d, e:\n        x: final_norm\n", "only once"),
        (f"  {', '.join(map(str, range(17)))}:\n    at: encoder\n    x: final_norm\n", "at most 16"),
    ],
)
def test_beginnings_that_do_not_fit_are_refused(names: str, sentence: str) -> None:
    with pytest.raises(CheckpointError, match=sentence):
        read(names)
