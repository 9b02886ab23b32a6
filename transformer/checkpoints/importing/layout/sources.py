"""Where an entry of a layout's `config` finds its value: in config.json, in shapes, in an answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from transformer.checkpoints.importing.config_draft import checked_size
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout import questions, rotary_questions, widths
from transformer.checkpoints.importing.layout.derived import Settings
from transformer.checkpoints.importing.layout.file import Layout
from transformer.checkpoints.importing.layout.plain_yaml import plain
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.errors import CheckpointError, shown
from transformer.model.config import TransformerConfig

_TYPES = {field.name: str(field.type) for field in fields(TransformerConfig)}
_SIZES = frozenset(
    ("d_model", "d_ff", "src_vocab_size", "tgt_vocab_size", "max_len", "n_segments", "d_embedding")
)
_LOWEST_FREQUENCY = 1e-12
_FLOATS = ("F64", "F32", "F16", "BF16")
_LAYERS = frozenset(("n_encoder_layers", "n_decoder_layers"))


class Sources:
    """Finds values.

    Args:
        settings: to be filled in.
        holds: tells whether conditions hold.
    """

    def __init__(self, settings: Settings, holds: Callable[[Mapping[str, Any]], bool]) -> None:
        self.settings, self._holds = settings, holds
        self.draft, self.get = settings.draft, settings.get

    @property
    def layout(self) -> Layout:
        """The layout, as it is after the answers so far."""
        return self.settings.layout

    def find(self, name: str, spec: Mapping[str, Any]) -> bool:
        """Fill in a setting from the first source that has it; False if none has."""
        sources = (
            *(self._from_padding, self._from_widest, self._from_config, self._from_saved_words),
            *(self._from_presence, self._from_axis, self._from_frequencies),
            *(self._from_answer, self._from_value),
        )
        return any(source(name, spec) for source in sources)

    def _from_padding(self, name: str, spec: Mapping[str, Any]) -> bool:
        """config.json's pad_token_id, with transformers' default."""
        if name != "pad_id" or "usual" not in spec:
            return False
        draft, usual = self.draft, spec["usual"]
        usual = self.get(usual) - 1 if isinstance(usual, str) else usual
        draft.pad_id(usual if draft.config is None else min(usual, spec.get("default", usual)))
        return True

    def _from_widest(self, name: str, spec: Mapping[str, Any]) -> bool:
        if "widest" in spec:
            widths.put_widest(self.settings, spec["widest"])
        return "widest" in spec

    def _from_presence(self, name: str, spec: Mapping[str, Any]) -> bool:
        if "present" not in spec:
            return False
        draft, present = self.draft, spec["present"]
        present = present if isinstance(present, list) else [present]
        found = any(one in draft.raw.tensors for one in present)
        draft.put(name, found, "shapes", spec.get("why", f"whether there is {present[0]}"))
        return True

    def _from_axis(self, name: str, spec: Mapping[str, Any]) -> bool:
        if "axis" not in spec:
            return False
        draft, (tensor, axis) = self.draft, spec["axis"]
        length = draft.length(tensor, axis) * spec.get("times", 1) - spec.get("minus", 0)
        length = length // int(self._quotient(spec["over"])) if "over" in spec else length
        checked_size(name, length)
        draft.put(name, length, "shapes", spec.get("why", f"axis {axis} of {draft.stored_name(tensor)}"))
        return True

    def _from_frequencies(self, name: str, spec: Mapping[str, Any]) -> bool:
        """The base of a rotation, whose frequency i of n is base^(-i / n); False if they don't tell."""
        stored = self.draft.raw.tensors.get(spec.get("frequencies", ""))
        if stored is None or stored.dtype not in _FLOATS or len(stored.shape) != 1 or stored.shape[0] < 2:
            return False
        n, last = stored.shape[0], float(map_tensor(stored)[-1])
        if _LOWEST_FREQUENCY < last < 1:
            base = last ** (-n / (n - 1))
            self.draft.put(name, float(f"{base:.5g}"), "shapes", f"the numbers of {spec['frequencies']}")
        return name in self.draft.settings

    def _from_value(self, name: str, spec: Mapping[str, Any]) -> bool:
        if "usual" in spec:
            why = spec.get("why", "the usual one of this family")
            self.draft.put(name, spec["usual"], "assumed", why)
        elif "value" in spec:
            value = tuple(spec["value"]) if isinstance(spec["value"], list) else spec["value"]
            self._follow(name, value, spec)
        return bool({"usual", "value"} & spec.keys())

    def _from_saved_words(self, name: str, spec: Mapping[str, Any]) -> bool:
        """A word's place in the lists of words that the trainer saved; False unless they agree."""
        if "place_of" not in spec:
            return False
        saved, word = self.draft.raw.extras.get(spec.get("in", "")), spec["place_of"]
        lists = saved.values() if isinstance(saved, dict) else [saved]
        places = {words.index(word) for words in lists if isinstance(words, list) and word in words}
        if len(places) == 1:
            self.draft.put(name, places.pop(), "config", f"{spec['in']}: the place of {word}")
        return name in self.draft.settings

    def _follow(self, name: str, value: Any, spec: Mapping[str, Any]) -> None:
        """Fill in a value that the layout gives: from the answer that it depends on, if it depends on one."""
        asked = [one for one in spec.get("when", {}).get("chosen", {}) if one in self.draft.questions]
        if asked:
            source = self.draft.settings[asked[-1]].source
            self.draft.put(name, value, source, spec.get("why", f"{asked[-1]}, above"))
        else:
            self.draft.put(name, value, "layout", spec.get("why", self.layout.every or "the usual one"))

    def _from_config(self, name: str, spec: Mapping[str, Any]) -> bool:
        """From config.json; False if it isn't there and has no default."""
        config = self.draft.config
        if config is None:
            return False
        keys = spec.get("key", [])
        keys = keys if isinstance(keys, list) else [keys]
        key = next((key for key in keys if key in config), keys[0] if keys else "")
        if not key or (key not in config and "default" not in spec):
            return False
        default = spec.get("default")
        if "if_null" in spec and not config.leaves_out(key):
            default = spec["if_null"]
        kind = _TYPES.get(name, "str")
        if name in _LAYERS:
            self._layers(name, key, config)
            return True
        if "choices" in spec or name == "activation":
            value = self._choice(name, key, spec, config)
        elif kind == "int":
            value = config.integer(key, default) - spec.get("minus", 0)
            value = checked_size(name, value) if name in _SIZES else value
        elif kind.startswith("bool") and type(config.get(key, default)) is bool:
            value = config.flag(key, default)
        else:
            value = config.number(key, default)
            power = spec.get("power", 1)
            if power != 1 and value <= 0:
                raise CheckpointError(f"{config.source} says {key} {shown(value)}: it must be above 0.")
            value = self._scale(name, value**power)
        why = key if "question" in spec else spec.get("why", key)  # of a question, why it is asked
        self.draft.configured(name, value, why)
        return True

    def _choice(self, name: str, key: str, spec: Mapping[str, Any], config: ForeignConfig) -> Any:
        choices = spec.get("choices", {})
        if name == "activation":
            return config.choice(key, {**questions.ACTIVATIONS, **choices}, spec.get("default"))
        told = config.get(key, spec.get("default"))
        if str(told).lower() not in choices:
            raise CheckpointError(
                f"{config.source} says {key} {shown(told)}, which Headlight's model does not have: it knows "
                f"{', '.join(choices)}."
            )
        return choices[str(told).lower()]

    def _layers(self, name: str, key: str, config: ForeignConfig) -> None:
        """Fill in a number of layers.

        Raises:
            CheckpointError: when config.json has many more layers than the files.
        """
        found = self.settings.derived.depth(name)
        told = config.integer(key)
        if told > 2 * found + 8 and not self.layout.config.get("shared_layers"):
            raise CheckpointError(
                f"config.json says {key} {shown(told)}, but the files have weights of {found} layers: they "
                "belong to two different models."
            )
        self.draft.configured(name, told, key)

    def _scale(self, name: str, value: float) -> bool | float:
        """True for the usual factor of scores, 1 / sqrt(d_head)."""
        if name != "attention_scale":
            return value
        d_head = self.get("d_head") or self.get("d_model") // max(1, self.get("n_heads"))
        return value == max(1, d_head) ** -0.5 or value

    def _likely(self, spec: Mapping[str, Any]) -> Any:
        """The likely answer; of several, the first whose condition holds."""
        likely = spec.get("likely")
        if not isinstance(likely, list):
            return likely
        return next((one["value"] for one in likely if self._holds(one["when"])), None)

    def _computed(self, name: str, spec: Mapping[str, Any]) -> dict[Any, str]:
        """Answers, with those that are computed from settings ("=d_model / n_heads") filled in."""
        found: dict[Any, str] = {}
        for value, label in answers(spec).items():
            if isinstance(value, str) and value.startswith("="):
                number = self._quotient(value[1:])
                found[self._scale(name, number ** spec.get("power", 1))] = label.replace("{}", f"{number:g}")
            else:
                found[value] = label
        return found

    def _quotient(self, formula: str) -> float:
        """A size, or one over another: "d_model / n_heads"."""
        sizes = [self.get(name) for name in formula.split(" / ")]
        if not all(type(size) is int and size > 0 for size in sizes):
            raise CheckpointError(f"{self.layout.what}: ={formula} is no size above 0, or one over another.")
        return float(sizes[0] / math.prod(sizes[1:]))

    def _from_answer(self, name: str, spec: Mapping[str, Any]) -> bool:
        """From the answer to a question of the layout's, or to the usual one."""
        if not {"question", "ask"} & spec.keys():
            return False
        self._ask(name, spec)
        return True

    def _ask(self, name: str, spec: Mapping[str, Any]) -> None:
        draft, likely = self.draft, self._likely(spec)
        if "question" in spec:
            why = spec.get("why", questions.NOT_STORED)
            draft.ask(name, spec["question"], why, self._computed(name, spec), likely=likely)
            return
        values = spec["ask"] if isinstance(spec["ask"], list) else [spec["ask"]]
        asks: Mapping[str, Callable[[], object]] = {
            "activation": lambda: questions.ask_usual_activation(draft, questions.ACTIVATIONS[values[0]]),
            "norm_position": lambda: questions.ask_norm_position(draft),
            "norm_eps": lambda: questions.ask_norm_eps(draft, *values),
            "embedding_scale": lambda: questions.ask_embedding_scale(draft, likely=values[0]),
            "max_len": lambda: rotary_questions.ask_length(draft, *values),
            "pad_id": lambda: questions.ask_pad_id(
                draft, self.settings.derived.embedding() or None, usual=values[0]
            ),
        }
        if name == "activation" and values[:1] and values[0] not in questions.ACTIVATIONS:
            known = ", ".join(questions.ACTIVATIONS)
            raise CheckpointError(f"{self.layout.what}: activation asks for one of {known}.")
        if name not in asks or not values:
            raise CheckpointError(f"{self.layout.what}: {name} needs question and answers.")
        asks[name]()


def answers(spec: Mapping[str, Any]) -> dict[Any, str]:
    """The answers to a question in a layout's file: value -> text for the user."""
    return {plain(value): str(label) for value, label in spec["answers"].items()}
