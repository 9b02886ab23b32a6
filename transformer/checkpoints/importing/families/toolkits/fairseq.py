"""fairseq's Transformers (Ott et al. 2019): translators, and decoder-only language models.

Sinusoids are tensor2tensor's, with the first token at position padding_idx + 1; learned positions begin at
that row of their table. The trainer saves its arguments next to the weights, as `args` or `cfg`. Old files
store the queries, keys and values of an attention in one matrix.
"""

from __future__ import annotations

from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout import questions
from transformer.checkpoints.importing.layout.shipped import layout
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError, shown

PAD_ID = 1
"""Every fairseq dictionary begins with <s>, <pad>, </s>, <unk>."""
_FIRST = PAD_ID + 1
"""The position of the first token."""

NAMES = layout("_fairseq_trained")

_GENERATORS = ("decoder.output_projection.weight", "decoder.embed_out")
_MARKS = (
    *NAMES.ignored,
    *_GENERATORS,
    "decoder.layers.0.encoder_attn.in_proj_weight",
)
"""Names that other programs using fairseq's names don't have."""
_OTHER_PROGRAMS = ("shared.weight", "lm_head.weight", "final_logits_bias")

_REFUSED = {
    "embed_tokens.embeddings.": "adaptive embeddings, which are wider for frequent words (--adaptive-input)",
    "adaptive_softmax.": "an adaptive softmax, in groups of words (--adaptive-softmax-cutoff)",
    "project_in_dim.": "embeddings narrower than the model (project_in_dim)",
    "project_out_dim.": "a generator that reads another width than the model's (project_out_dim)",
}
_REFUSED_ARGS = {
    "cross_self_attention": "an attention that looks at source and target at once",
    "no_cross_attention": "a decoder that does not look at the source",
    "character_embeddings": "words read letter by letter",
}
_ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_accurate": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
}
_FIRST_FINAL_NORM = 2
"""Before this layout version, pre-norm stacks had no final norm."""


def matches(raw: RawCheckpoint) -> bool:
    """True if there are fairseq's decoder and something that only fairseq stores."""
    names = raw.tensors.keys()
    decoder = "decoder.layers.0.fc1.weight" in names and any(
        f"decoder.layers.0.self_attn.{name}" in names for name in ("q_proj.weight", "in_proj_weight")
    )
    others = "model_type" in raw.json("config.json") or not names.isdisjoint(_OTHER_PROGRAMS)
    return decoder and not others and not names.isdisjoint(_MARKS)


def read_config(draft: ConfigDraft) -> None:
    """Read the trainer's arguments, where the file has them, the shapes, and answers.

    Raises:
        CheckpointError: for what our model does not compute.
    """
    raw = draft.raw
    _refuse_other_computations(raw)
    draft.config = told = _arguments(raw)
    depths = {stack: raw.layer_count(f"{stack}.layers.") for stack in ("encoder", "decoder")}
    stacks = [stack for stack, depth in depths.items() if depth]
    first = stacks[0]
    draft.size("d_model", f"{first}_embed_dim", f"{first}.embed_tokens.weight", 1)
    draft.size("d_ff", f"{first}_ffn_embed_dim", f"{first}.layers.0.fc1.weight", 0)
    for stack, depth in depths.items():
        draft.put(f"n_{stack}_layers", depth, "shapes", f"names from {stack}.layers.0 on")
    draft.heads(f"{first}_attention_heads")
    if told is not None:
        for stack in stacks:
            heads = draft["n_heads"]
            told.only(f"{stack}_attention_heads", heads, why=f"another number of heads than {heads}")
        for name, why in _REFUSED_ARGS.items():
            told.only(name, False, why=why)
    _read_norms(draft, stacks)
    if told is None:
        questions.ask_activation(draft)
    else:
        draft.configured("activation", told.choice("activation_fn", _ACTIVATIONS, "relu"), "activation_fn")
    _read_words(draft, stacks)
    _read_positions(draft, stacks)
    if told is None:
        questions.ask_embedding_scale(draft, likely=True)
    else:
        scaled = not told.flag("no_scale_embedding", False)
        draft.configured("embedding_scale", scaled, "no_scale_embedding")


def _arguments(raw: RawCheckpoint) -> ForeignConfig | None:
    """The trainer's arguments: `args` in older files, `cfg["model"]` in newer ones, some of them nested."""
    cfg = raw.extras.get("cfg")
    for source, found in (
        ("args", raw.extras.get("args")),
        ("cfg.model", cfg.get("model") if isinstance(cfg, dict) else None),
    ):
        if not isinstance(found, dict):
            continue
        values: dict[str, Any] = dict(found)
        for stack in ("encoder", "decoder"):
            inner = values.pop(stack, None)
            if isinstance(inner, dict):
                values |= {f"{stack}_{name}": value for name, value in inner.items()}
        if "decoder_attention_heads" in values:
            return ForeignConfig(values, source)
    return None


def _refuse_other_computations(raw: RawCheckpoint) -> None:
    for name in raw.tensors:
        for part, why in _REFUSED.items():
            if f"decoder.{part}" in name or f"encoder.{part}" in name:
                raise CheckpointError(
                    f"There is {shown(name)}: {why}. Headlight's model does not compute that."
                )


def _read_norms(draft: ConfigDraft, stacks: list[str]) -> None:
    raw, told = draft.raw, draft.config
    ending = [stack for stack in stacks if f"{stack}.layer_norm.weight" in raw.tensors]
    final = bool(ending) if len(ending) in (0, len(stacks)) else ending[0]
    draft.put("final_norm", final, "shapes", "whether a stack ends with a norm")
    draft.layout("every Transformer of fairseq", norm_eps=1e-5, bias=True)
    draft.present("embedding_norm", f"{stacks[0]}.layernorm_embedding.weight")
    if stacks == ["decoder"]:
        draft.layout("every language model of fairseq", norm_position="pre")
    elif told is not None:
        before = told.flag("decoder_normalize_before", False)
        told.only("encoder_normalize_before", before, why="norms elsewhere than in the decoder")
        draft.configured("norm_position", "pre" if before else "post", "decoder_normalize_before")
    elif ending:
        draft.put("norm_position", "pre", "shapes", "whether a stack ends with a norm")
    elif _version(raw) < _FIRST_FINAL_NORM:
        questions.ask_norm_position(draft, why="Old versions of fairseq store the same names for both.")
    else:
        draft.put("norm_position", "post", "shapes", "whether a stack ends with a norm")


def _version(raw: RawCheckpoint) -> float:
    """Version of the layout; 1 if none is stored."""
    stored = raw.tensors.get("decoder.version")
    return (
        float(map_tensor(stored).flatten()[0]) if stored is not None and stored.shape in ((), (1,)) else 1.0
    )


def _read_words(draft: ConfigDraft, stacks: list[str]) -> None:
    raw = draft.raw
    source, target = "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"
    if "encoder" in stacks:
        draft.put("src_vocab_size", draft.length(source, 0), "shapes", f"axis 0 of {source}")
    else:
        draft.put("src_vocab_size", 0, "shapes", "there is no such stack")
    draft.put("tgt_vocab_size", draft.length(target, 0), "shapes", f"axis 0 of {target}")
    shared = raw.same_numbers(source, target)
    draft.put("share_embeddings", shared, "shapes", "whether both embeddings are stored as one tensor")
    draft.tied_generator(next((name for name in _GENERATORS if name in raw.tensors), ""), target)
    draft.layout("every Transformer of fairseq", generator_bias=False, pad_id=PAD_ID)


def _read_positions(draft: ConfigDraft, stacks: list[str]) -> None:
    """Positions are learned if a table is stored; for computed ones the files have at most a marker."""
    raw, told = draft.raw, draft.config
    tables = [f"{stack}.embed_positions.weight" for stack in stacks]
    if tables[0] in raw.tensors:
        lengths = [draft.length(table, 0) - _FIRST for table in tables]
        why = f"rows of the tables of positions, without the first {_FIRST}, which are unused"
        draft.put("positions", "learned", "shapes", why)
        draft.put("max_len", min(lengths), "shapes", why)
        return
    if told is not None:
        names = {"encoder": "max_source_positions", "decoder": "max_target_positions"}
        length = min(told.integer(names[stack], questions.ASSUMED_LENGTH) for stack in stacks)
        draft.configured("max_len", length, "max_source_positions, max_target_positions")
        positions = "none" if told.flag("no_token_positional_embeddings", False) else "sinusoidal"
        draft.configured("positions", positions, "no_token_positional_embeddings")
    else:
        draft.put("max_len", questions.ASSUMED_LENGTH, "assumed", "fairseq's usual one")
        draft.put("positions", "sinusoidal", "shapes", "no table of positions is stored")
    draft.layout("fairseq's sinusoids", sinusoid_layout="halves_to_base", position_offset=_FIRST)


FAMILY = Family(
    name="fairseq",
    label="fairseq",
    matches=matches,
    read_config=read_config,
    renames=NAMES.names,
    ignored=NAMES.ignored,
)
