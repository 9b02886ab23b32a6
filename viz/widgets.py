"""The pickers: how every one is drawn, and those that several pages have, each with its one key.

A picker keeps its value in the session's state under its key, and Streamlit keeps the address in step with
it under the same name. A remembered or linked value that is none of the options now (another model, another
sentence) lets the picker begin with its default. A page that moves another page's picker does so by the
functions here that are called `choose_...`, never by the picker's key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.attention_maps import ATTENTION_LABELS, Attention
from viz.figures.labels import visible

Option = TypeVar("Option")
LARGEST_SEED = 2**31 - 1
_DEFAULT = "default of "
_ATTENTION = "attention"


def set_choice(key: str, value: Any) -> None:
    """Move a picker, as if the user had. To be called from a callback."""
    st.session_state[key] = value


def clamp_choice(key: str, options: Sequence[Any]) -> None:
    """Let a picker whose remembered or linked value is none of its options now begin with its default."""
    forget_choice(key, options.__contains__)


def forget_choice(key: str, is_possible: Callable[[Any], bool]) -> None:
    """Let a picker whose remembered or linked value has become impossible begin with its default."""
    if key in st.session_state and not is_possible(st.session_state[key]):
        del st.session_state[key]


def follow_default(key: str, default: Any) -> None:
    """Let a picker that still stands on its default go along when that becomes another one."""
    known = _DEFAULT + key
    if key in st.session_state and st.session_state[key] == st.session_state.get(known, default):
        st.session_state[key] = default
    st.session_state[known] = default


def pick_from_list(
    label: str,
    options: Sequence[Option],
    *,
    key: str,
    default: Option | None = None,
    where: DeltaGenerator | None = None,
    **looks: Any,
) -> Option:
    """Draw a drop-down list.

    Args:
        label: what is picked.
        options: one or more.
        key: of the picker, and its name in the address.
        default: what it begins with; None: the first option.
        where: the column or container; None: here.
        looks: what else `st.selectbox` takes.
    """
    clamp_choice(key, options)
    index = 0 if default is None else options.index(default)
    draw = st.selectbox if where is None else where.selectbox
    chosen: Option = draw(label, options, index=index, key=key, bind="query-params", **looks)
    return chosen


def pick_from_buttons(
    label: str,
    labels: Mapping[Option, str],
    *,
    key: str,
    default: Option | None = None,
    where: DeltaGenerator | None = None,
    **looks: Any,
) -> Option:
    """Draw a row of buttons, one of which is always pressed.

    Args:
        label: what is picked.
        labels: option -> what stands on its button.
        key: as for `pick_from_list`, and so are the others.
        default: what it begins with.
        where: it stands.
        looks: what else `st.segmented_control` takes.
    """
    options = list(labels)
    clamp_choice(key, options)
    draw = st.segmented_control if where is None else where.segmented_control
    chosen: Option = draw(
        label,
        options,
        default=options[0] if default is None else default,
        required=True,
        format_func=labels.__getitem__,
        key=key,
        bind="query-params",
        **looks,
    )
    return chosen


def as_wide_as_needed() -> DeltaGenerator:
    """A place for buttons in a row: directly in it they would be cut on a narrow screen."""
    return st.container(width="content")


def pick_on_slider(
    label: str,
    options: Sequence[Option],
    default: Option,
    *,
    key: str,
    where: DeltaGenerator | None = None,
    **looks: Any,
) -> Option:
    """Draw a slider with a stop for each option; the arguments are those of `pick_from_list`."""
    clamp_choice(key, options)
    draw = st.select_slider if where is None else where.select_slider
    chosen: Any = draw(label, options, default, key=key, bind="query-params", **looks)
    return cast(Option, chosen)


def pick_seed(label: str, *, key: str, where: DeltaGenerator | None = None, **looks: Any) -> int:
    """Draw a box for the seed of something random; it begins with 0, or with `value` among the looks."""
    draw = st.number_input if where is None else where.number_input
    seed: int = draw(label, 0, LARGEST_SEED, key=key, bind="query-params", **looks)
    return seed


def pick_token(
    label: str, tokens: Sequence[str], *, key: str, default: int = 0, where: DeltaGenerator | None = None
) -> int:
    """Draw a list of tokens; returns the position of the picked one."""
    return pick_from_list(
        label,
        range(len(tokens)),
        key=key,
        default=default,
        where=where,
        format_func=lambda position: f"{position}: {visible(tokens[position])}",
    )


def pick_query(tokens: Sequence[str], default: int, where: DeltaGenerator | None = None) -> int:
    """Draw the list of the tokens that look, on Masks and Positions; returns the picked one's position."""
    return pick_token("Query: the token that looks", tokens, key="query", default=default, where=where)


def pick_attention(
    attentions: Sequence[Attention], preferred: Attention = "cross", key: str = _ATTENTION
) -> Attention:
    """Draw the picker of the attention that is shown.

    Args:
        attentions: those that there are.
        preferred: what it begins with, if there is one.
        key: of a picker that goes its own way: others keep what is picked on another page.
    """
    return pick_from_buttons(
        "Which attention",
        {attention: ATTENTION_LABELS[attention] for attention in attentions},
        key=key,
        default=preferred if preferred in attentions else attentions[0],
        where=as_wide_as_needed(),
    )


def choose_attention(attention: Attention) -> None:
    """Move the picker of the attention. To be called from a callback."""
    set_choice(_ATTENTION, attention)


@dataclass(frozen=True)
class HeadPicker:
    """The lists of a model's layers and of the heads in one, by the keys that they have.

    A model of other sizes than the sidebar's has a picker of its own, so that neither moves the other.
    """

    layer_key: str
    head_key: str

    def pick(self, n_layers: int, n_heads: int, *, default_layer: int | None = None) -> tuple[int, int]:
        """Draw both lists beside each other.

        Args:
            n_layers: the model's.
            n_heads: of a layer.
            default_layer: None: the last one, where cross-attention is clearest.
        """
        left, right = st.columns(2)
        layer = self.pick_layer(n_layers, left, n_layers - 1 if default_layer is None else default_layer)
        return layer, self.pick_head(n_heads, right)

    def pick_layer(self, n_layers: int, where: DeltaGenerator, default: int = 0) -> int:
        """Draw the list of layers."""
        return pick_from_list("Layer", range(n_layers), key=self.layer_key, default=default, where=where)

    def pick_head(self, n_heads: int, where: DeltaGenerator, label: str = "Head") -> int:
        """Draw the list of heads."""
        return pick_from_list(label, range(n_heads), key=self.head_key, where=where)

    def choose(self, layer: int, head: int) -> None:
        """Move both. To be called from a callback."""
        set_choice(self.layer_key, layer)
        set_choice(self.head_key, head)


HEAD = HeadPicker("layer", "head")
"""Of the chosen model: Explore, Masks and Positions go along with each other."""
WATCHED_HEAD = HeadPicker("watched_layer", "watched_head")
"""Of a model that learns: the page Training."""
FORCING_HEAD = HeadPicker("forcing_layer", "forcing_head")
"""Of two runs beside each other: the page Decode."""
