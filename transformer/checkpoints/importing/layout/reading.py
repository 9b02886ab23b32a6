"""Fills in a configuration as a layout says, and from names, shapes and answers where it says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Patterns
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.conditions import chosen, holds
from transformer.checkpoints.importing.layout.derived import Derived
from transformer.checkpoints.importing.layout.file import Layout, overlaid
from transformer.checkpoints.importing.layout.groups import GROUPS
from transformer.checkpoints.importing.layout.our_names import pattern_of
from transformer.checkpoints.importing.layout.sources import Sources
from transformer.checkpoints.importing.nearest_names import nearest
from transformer.errors import CheckpointError, shown
from transformer.model.config import TransformerConfig

_USUAL = ("logits_scale", "merge_heads")
"""Settings that no tensor reveals and models rarely change: reported, not asked."""
_MOST_UNMATCHED = 8
"""Most lines without a tensor that are noted."""


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
        self._sources = Sources(self, self._holds)

    def read(self) -> None:
        """Fill in everything.

        Raises:
            CheckpointError: for what the layout rejects, and for sizes that nothing tells.
        """
        if self.layout.told_in:
            self.draft.config = self._told()
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
        self._note_unmatched()

    def _note_unmatched(self) -> None:
        """Note the lines under `ignored` that match no tensor: often they give only the end of a name."""
        lines, tensors = self.layout.ignored_lines, self.draft.raw.tensors
        matches = map(Patterns(lines).find, tensors if lines else ())
        matched = {match[0] for match in matches if match is not None}
        present = sorted({pattern_of(name) for name in tensors}) if lines.keys() - matched else []
        for name in [name for name in lines if name not in matched][:_MOST_UNMATCHED]:
            pattern = pattern_of(name)
            ends = [one for one in present if one.endswith(f".{pattern}")]
            near = ", ".join(map(shown, ends[:2] or nearest(pattern, present)))
            self.draft.note(
                f"{self.layout.what}, line {lines[name]}: {shown(name)} under ignored matches no tensor of "
                f"the files{near and '; the nearest: '}{near}."
            )

    def _told(self) -> ForeignConfig | None:
        """The configuration where the layout says that it is."""
        raw = self.draft.raw
        for name in self.layout.told_in:
            saved = raw.json(name) if name in raw.texts else ForeignConfig(raw.extras).get(name)
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
        if not any(self._holds(spec.get("when", {})) and self._sources.find(name, spec) for spec in told):
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
        is_users = self.layout.name.startswith("_")  # a user's own module, whose file may say anything
        if self.layout.trusted and not is_users and config.source in self.draft.raw.texts:
            config.refuse_unknown(self.layout.harmless)
