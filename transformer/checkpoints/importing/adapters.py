"""Adapters that the library PEFT stores: separated from the model's tensors, and merged where they are LoRA.

Their tensors are in the model's own state dict, next to each wrapped `base_layer`, or in a file of their own
(adapter_model.safetensors) next to the model's. Adapters of other kinds than LoRA are refused.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.low_rank import MERGE_FIRST, Merger
from transformer.checkpoints.importing.report import ADAPTER
from transformer.checkpoints.reading.raw import BESIDE, RawCheckpoint, StoredTensor
from transformer.errors import CheckpointError, shown

_IGNORE, _MERGE = "ignore", "merge"
_PREFIX = "base_model.model."
_WRAPPERS = ("base_layer", "original_module")
_TRAINED = "modules_to_save"
_PART = re.compile(r"(.+)\.lora_(embedding_)?(A|B)(?:\.(?!weight$)([^.]+))?(\.weight)?")
_LORA = re.compile(r"(?:^|\.)lora_", re.IGNORECASE)
_OTHER_KINDS = {
    "lora_magnitude_vector": "DoRA",
    "lora_E": "AdaLoRA",
    "ia3_l": "IA3",
    "hada_w1_a": "LoHa",
    "lokr_w1": "LoKr",
    "lokr_w1_a": "LoKr",
    "oft_r": "OFT",
    "oft_R": "OFT",
    "boft_R": "BOFT",
    "vera_lambda_b": "VeRA",
    "fourierft_spectrum": "FourierFT",
    "hra_u": "HRA",
    "prompt_embeddings": "prompt tuning",
    "adaption_prompt": "Llama-Adapter",
    "trainable_tokens_delta": "trainable tokens",
    "ln_tuning_layers": "LN tuning",
}
"""Part of a tensor's name in PEFT -> kind of adapter."""


@dataclass
class Adapted:
    """A checkpoint without its adapters, and those.

    Attributes:
        raw: the checkpoint under the names of the plain model.
        is_beside: whether the adapter is in a file of its own.
        pairs: adapter -> its pairs of matrices; see `low_rank.Pairs`.
        trained: adapter -> name of a tensor -> the copy that replaces it.
        odd: name of a tensor of an adapter that is not LoRA; empty if there is none.
    """

    raw: RawCheckpoint
    is_beside: bool = False
    pairs: dict[str, dict[str, dict[str, StoredTensor]]] = field(default_factory=lambda: defaultdict(dict))
    trained: dict[str, dict[str, StoredTensor]] = field(default_factory=lambda: defaultdict(dict))
    odd: str = ""

    def add(self, name: str, stored: StoredTensor) -> bool:
        """Sort in a tensor, whose name is without wrappers; False if it is not an adapter's."""
        match, parts = _PART.fullmatch(name), name.split(".")
        if match and (match[5] or match[2]):
            stem, of_words, side, adapter = match[1], match[2] or "", match[3], match[4] or ""
            self.pairs[adapter].setdefault(stem, {})[of_words + side] = stored
        elif _TRAINED in parts[:-2]:
            at = parts.index(_TRAINED)
            self.trained[parts[at + 1]][".".join(parts[:at] + parts[at + 2 :])] = stored
        elif _LORA.search(name) or not _OTHER_KINDS.keys().isdisjoint(parts):
            self.odd = self.odd or name
        else:
            return False
        return True


def without_adapters(raw: RawCheckpoint) -> Adapted:
    """Separate the tensors of adapters from those of the model.

    Raises:
        CheckpointError: if an adapter of another kind than LoRA is among the model's own tensors.
    """
    found, tensors, beside = Adapted(raw), dict[str, StoredTensor](), dict[str, StoredTensor]()
    for name, stored in raw.tensors.items():
        if name.startswith(BESIDE):
            beside[name.removeprefix(BESIDE).removeprefix(_PREFIX)] = stored
            continue
        plain = ".".join(part for part in name.split(".") if part not in _WRAPPERS)
        if not found.add(plain, stored):
            tensors[name if plain in raw.tensors else plain] = stored
    if found.odd:
        raise CheckpointError(_not_merged(found.odd))
    if beside and not found.pairs:
        found.is_beside = True
        for name, stored in beside.items():
            if not found.add(".".join(part for part in name.split(".") if part not in _WRAPPERS), stored):
                found.trained[""][name] = stored
    if tensors.keys() != raw.tensors.keys():
        found.raw = replace(raw, tensors=tensors)
    return found


def merged(draft: ConfigDraft, adapted: Adapted) -> Mapping[str, StoredTensor]:
    """Ask what to do with the adapters, and merge one.

    Returns:
        Stored names -> tensors to put in their place, by `low_rank.with_changed`.

    Raises:
        CheckpointError: if it can't be merged, with the reason.
    """
    chosen = _beside(draft) if adapted.is_beside else _within(draft, adapted)
    if chosen is None:
        return {}
    if adapted.odd:
        raise CheckpointError(_not_merged(adapted.odd))
    merger = Merger(draft, adapted.raw.tensors, adapted.is_beside)
    merger.add(adapted.pairs[chosen])
    merger.replace(adapted.trained[chosen])
    return merger.finish()


def _beside(draft: ConfigDraft) -> str | None:
    """Ask whether to merge an adapter in a file of its own, which has no name."""
    wanted = draft.ask(
        ADAPTER,
        "An adapter (adapter_model) is in the folder of the model's weights. Merge it into them?",
        "The weights may be those before the adapter was trained, or those with the adapter merged already: "
        "nothing in the files says which.",
        {_IGNORE: "no: leave the adapter out", _MERGE: "yes: merge it, W + B A · alpha / r"},
    )
    return "" if wanted == _MERGE else None


def _within(draft: ConfigDraft, adapted: Adapted) -> str | None:
    """The adapter among the model's own tensors, asked for if there are several."""
    names = [*dict.fromkeys((*adapted.pairs, *adapted.trained))]
    if len(names) < 2:
        return names[0] if names else None
    chosen: str = draft.ask(
        ADAPTER,
        f"The files hold {len(names)} adapters of one model. Which of them do you want?",
        "It is merged into the weights; each gives another model.",
        {name: f"merge {shown(name)}" for name in names},
    )
    return chosen


def _not_merged(name: str) -> str:
    kind = next((kind for part, kind in _OTHER_KINDS.items() if part in name.split(".")), "")
    if kind:
        return f"The adapter is of the kind {kind} ({shown(name)}), and only LoRA is merged: {MERGE_FIRST}."
    return (
        f"The files hold LoRA in another form than PEFT's pairs of matrices ({shown(name)}), so how it "
        f"changes the weights is unknown: {MERGE_FIRST}."
    )
