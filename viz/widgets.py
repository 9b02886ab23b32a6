"""The pickers: how each kind is drawn, and those that several pages share, each with one key.

A picker's value is stored in the session state under its key, and Streamlit syncs it with the address under
the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import streamlit as st

from transformer.analysis.attention_maps import ATTENTION_LABELS, Attention
from viz.figures.labels import visible

Option = TypeVar("Option")
Draw: TypeAlias = Callable[..., Any]
"""A function that draws a widget, of `st`, a column or a container."""
LARGEST_SEED = 2**31 - 1
_DEFAULT = "default of "


def set_choice(key: str, value: Any) -> None:
    """Move a picker as if the user had. To be called from a callback."""
    st.session_state[key] = value


def clamp_choice(key: str, options: Sequence[Any]) -> None:
    """Reset a picker whose remembered or linked value is not among its options."""
    forget_choice(key, options.__contains__)


def forget_choice(key: str, is_possible: Callable[[Any], bool]) -> None:
    """Reset a picker whose remembered or linked value has become impossible."""
    if key in st.session_state and not is_possible(st.session_state[key]):
        del st.session_state[key]


def follow_default(key: str, default: Any) -> None:
    """Move a picker that is still at its default to a new default."""
    known = _DEFAULT + key
    if key in st.session_state and st.session_state[key] == st.session_state.get(known, default):
        st.session_state[key] = default
    st.session_state[known] = default


def pick(draw: Draw, label: str, options: Sequence[Option], *, key: str, **looks: Any) -> Option:
    """Draw a picker of one option.

    Args:
        draw: `st.selectbox`, `st.select_slider` or similar, or that of a column.
        label: the picker's label.
        options: one or more.
        key: the picker's key, and its name in the address.
        looks: further arguments of `draw`.
    """
    clamp_choice(key, options)
    chosen: Option = draw(label, options, key=key, bind="query-params", **looks)
    return chosen


def pick_button(
    draw: Draw, label: str, labels: Mapping[Option, str], default: Option | None = None, **looks: Any
) -> Option:
    """Draw one button per option, of which one is always pressed, initially the default.

    `draw` is `st.segmented_control` or that of a column; the other arguments are as for `pick`.
    """
    options = list(labels)
    first = options[0] if default is None else default
    name = labels.__getitem__
    return pick(draw, label, options, default=first, required=True, format_func=name, **looks)


def in_a_row() -> Draw:
    """Draws buttons in a horizontal container; directly in it they would be cut off on a narrow screen."""
    return st.container(width="content").segmented_control


def pick_seed(draw: Draw, label: str, *, key: str, **looks: Any) -> int:
    """Draw the box for a random seed with `st.number_input`; it starts at 0, or at `value`."""
    seed: int = draw(label, 0, LARGEST_SEED, key=key, bind="query-params", **looks)
    return seed


def pick_token(draw: Draw, label: str, tokens: Sequence[str], *, key: str, default: int = 0) -> int:
    """Draw a list of tokens with `st.selectbox`; returns the position of the chosen one."""

    def name(position: int) -> str:
        return f"{position}: {visible(tokens[position])}"

    return pick(draw, label, range(len(tokens)), key=key, index=default, format_func=name)


def pick_query(draw: Draw, tokens: Sequence[str], default: int) -> int:
    """Draw the list of queries on Masks and Positions; returns the position of the chosen one."""
    return pick_token(draw, "Query: the token that looks", tokens, key="query", default=default)


def pick_attention(attentions: Sequence[Attention], *, preferred: Attention, key: str) -> Attention:
    """Draw the picker of the attention.

    Args:
        attentions: the model's attentions.
        preferred: the initial choice, if the model has it.
        key: the picker's key.
    """
    labels = {attention: ATTENTION_LABELS[attention] for attention in attentions}
    default = preferred if preferred in labels else attentions[0]
    return pick_button(in_a_row(), "Which attention", labels, key=key, default=default)


@dataclass(frozen=True)
class HeadPicker:
    """The pickers of a model's layer and of a head in a layer, by their keys.

    Until the reader uses one of them, the layer and head that they show are nobody's choice.
    """

    layer_key: str
    head_key: str

    def pick_layer(self, draw: Draw, n_layers: int, default: int = 0) -> int:
        """Draw the list of layers; it shows the default until the reader chooses one."""
        return self._pick(draw, "Layer", n_layers, self.layer_key, default)

    def pick_head(self, draw: Draw, n_heads: int, label: str = "Head") -> int:
        """Draw the list of heads."""
        return self._pick(draw, label, n_heads, self.head_key)

    def forget_unused(self) -> None:
        """Empty the stored layer and head if the pickers were drawn but never used."""
        if st.session_state.pop(self._unused, False):
            st.session_state[self.layer_key] = st.session_state[self.head_key] = ""

    def _pick(self, draw: Draw, label: str, n: int, key: str, default: int = 0) -> int:
        keys, state = (self.layer_key, self.head_key), st.session_state
        are_empty = all(state.get(name, "") == "" for name in keys)
        in_address = any(name in st.query_params for name in keys)
        state[self._unused] = (are_empty or state.get(self._unused, False)) and not in_address
        if state[self._unused]:
            follow_default(key, default)
        return pick(draw, label, range(n), key=key, index=default, on_change=self._use)

    def _use(self) -> None:
        st.session_state[self._unused] = False

    @property
    def _unused(self) -> str:
        return f"unused {self.layer_key} {self.head_key}"


HEAD = HeadPicker("layer", "head")
"""For the chosen model; Masks, Positions and Explore's viewer share this choice."""
