"""Fills in a configuration as a layout says, and from names, shapes and answers where it says nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft, checked_size
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout import questions, rotary_questions, widths
from transformer.checkpoints.importing.layout.conditions import chosen, holds
from transformer.checkpoints.importing.layout.derived import Derived
from transformer.checkpoints.importing.layout.file import Layout, overlaid
from transformer.checkpoints.importing.layout.groups import GROUPS
from transformer.checkpoints.importing.layout.plain_yaml import plain
from transformer.errors import CheckpointError, shown
from transformer.model.config import TransformerConfig

_TYPES = {field.name: str(field.type) for field in fields(TransformerConfig)}
_SIZES = frozenset(
    ("d_model", "d_ff", "src_vocab_size", "tgt_vocab_size", "max_len", "n_segments", "d_embedding")
)
_LAYERS = frozenset(("n_encoder_layers", "n_decoder_layers"))
_USUAL = ("logits_scale", "merge_heads")
"""Settings that no tensor reveals and models rarely change: reported, not asked."""


class Reading:
    """Fills in a draft; settings that depend on others fetch them first.

    Attributes:
        layout: as in its file, with the variants that fit the checkpoint, then with those that fit answers.
        draft: to be filled in.
        derived: what names and shapes tell.
    """

    def __init__(self, layout: Layout, draft: ConfigDraft) -> None:
        self.layout, self.draft = layout, draft
        self.derived = Derived(layout, draft, self.get)
        self._begun: set[str] = set()

    def read(self) -> None:
        """Fill in everything.

        Raises:
            CheckpointError: for what the layout rejects, and for sizes that nothing tells.
        """
        self.draft.config = self._told() or self.draft.config
        for when, sections in self.layout.variants:  # those that depend on answers
            if self._holds(when):
                self.layout = overlaid(self.layout, sections)
                self.derived = Derived(self.layout, self.draft, self.get)
        self._refuse(by_settings=False)
        for name in (*self.layout.config, *self.derived.fields):
            if name != "pad_id":  # asked last
                self.get(name)
        self.get("pad_id")
        for field in fields(TransformerConfig):
            if not self.layout.trusted and field.name in _USUAL and field.name not in self.draft.settings:
                self.draft.put(field.name, field.default, "assumed", "no file says: the usual one")
        self._check()
        for when, sentence in self.layout.notes:
            if self._holds(when):
                self.draft.note(sentence)

    def _told(self) -> ForeignConfig | None:
        """The configuration where the layout says that it is."""
        raw = self.draft.raw
        for name in self.layout.told_in:
            saved = raw.json(name) if name in raw.texts else raw.extras.get(name)
            if isinstance(saved, dict):
                return ForeignConfig(saved, name)
        return None

    def get(self, name: str) -> Any:
        """A setting's value, filled in first if it isn't yet; None if nothing tells it."""
        draft = self.draft
        if name not in draft.settings and name not in self._begun:
            self._begun.add(name)
            self._fill_in(name)
        return draft[name] if name in draft.settings else None

    def _fill_in(self, name: str) -> None:
        config = self.layout.config
        group = next((one for one in GROUPS if one in config and name in GROUPS[one].fields), "")
        if group and name not in config:
            self.get(group)
            return
        if name in GROUPS:
            spec = self._alternative(config[name])
            if spec is not None:
                GROUPS[name].function(self, spec)
            return
        if name not in self.layout.config:
            self.derived.fill_in(name)
            return
        told = self.layout.config[name]
        if not isinstance(told, list):
            self._fixed(name, told)
            return
        if not any(self._holds(spec.get("when", {})) and self._found(name, spec) for spec in told):
            self.derived.fill_in(name)

    def _fixed(self, name: str, value: Any) -> None:
        if self.layout.trusted:
            self.draft.put(name, value, "layout", self.layout.every)
        else:
            self.draft.put(name, value, "config", f"{self.layout.what.lower().removeprefix('the ')}: {name}")

    def _alternative(self, told: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        return next((spec for spec in told if self._holds(spec.get("when", {}))), None)

    def _holds(self, when: Mapping[str, Any]) -> bool:
        for name in chosen(when):
            self.get(name)
        values = {name: setting.value for name, setting in self.draft.settings.items()}
        return holds(when, self.draft.raw, values, self.draft.config)

    def _found(self, name: str, spec: Mapping[str, Any]) -> bool:
        """Fill in a setting from the first source that has it; False if none has."""
        draft = self.draft
        if name == "pad_id" and "usual" in spec:
            usual = spec["usual"]
            usual = self.get(usual) - 1 if isinstance(usual, str) else usual
            draft.pad_id(usual if draft.config is None else min(usual, spec.get("default", usual)))
        elif "widest" in spec:
            widths.put_widest(self, spec["widest"])
        elif (draft.config is not None and self._from_config(name, spec, draft.config)) or (
            "place_of" in spec and self._from_saved_words(name, spec)
        ):
            pass
        elif "present" in spec:
            present = spec["present"] if isinstance(spec["present"], list) else [spec["present"]]
            found = any(one in draft.raw.tensors for one in present)
            draft.put(name, found, "shapes", spec.get("why", f"whether there is {present[0]}"))
        elif "axis" in spec:
            tensor, axis = spec["axis"]
            length = draft.length(tensor, axis) * spec.get("times", 1) - spec.get("minus", 0)
            length = length // int(self._quotient(spec["over"])) if "over" in spec else length
            checked_size(name, length)
            draft.put(name, length, "shapes", spec.get("why", f"axis {axis} of {draft.stored_name(tensor)}"))
        elif "question" in spec or "ask" in spec:
            self._ask(name, spec)
        elif "usual" in spec:
            draft.put(name, spec["usual"], "assumed", spec.get("why", "the usual one of this family"))
        elif "value" in spec:
            value = tuple(spec["value"]) if isinstance(spec["value"], list) else spec["value"]
            self._follow(name, value, spec)
        else:
            return False
        return True

    def _from_saved_words(self, name: str, spec: Mapping[str, Any]) -> bool:
        """Fill in a word's place in the lists of words that the trainer saved; False unless they agree."""
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

    def _from_config(self, name: str, spec: Mapping[str, Any], config: ForeignConfig) -> bool:
        """Fill in a setting from config.json; False if it isn't there and has no default."""
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
        self.draft.configured(name, value, spec.get("why", key))
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
        found = self.derived.depth(name)
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
            "pad_id": lambda: questions.ask_pad_id(draft, self.derived.embedding() or None, usual=values[0]),
        }
        if (
            name not in asks
            or not values
            or (name == "activation" and values[0] not in questions.ACTIVATIONS)
        ):
            known = (
                f" one of {', '.join(questions.ACTIVATIONS)}"
                if name == "activation"
                else " question and answers"
            )
            raise CheckpointError(f"{self.layout.what}: {name} needs{known}.")
        asks[name]()

    def _refuse(self, *, by_settings: bool) -> None:
        """Reject a checkpoint by conditions that are, or aren't, about settings."""
        for when, sentence in self.layout.refuse:
            if any(chosen(when)) == by_settings and self._holds(when):
                raise CheckpointError(sentence)

    def _check(self) -> None:
        """Reject what the layout doesn't cover."""
        config = self.draft.config
        if not self.layout.trusted:
            self.derived.held.refuse_rivals(self.layout.what)
        self._refuse(by_settings=True)
        if config is None:
            return
        for key, (allowed, why, when) in self.layout.only.items():
            if not self._holds(when):
                continue
            values = [
                self.get(one[1:]) if isinstance(one, str) and one.startswith("=") else one for one in allowed
            ]
            config.only(key, *values, why=why)
        if self.layout.trusted and config.source not in self.draft.raw.extras:  # a trainer saves much more
            config.refuse_unknown(self.layout.harmless)


def answers(spec: Mapping[str, Any]) -> dict[Any, str]:
    """The answers to a question in a layout's file: value -> text for the user."""
    return {plain(value): str(label) for value, label in spec["answers"].items()}
