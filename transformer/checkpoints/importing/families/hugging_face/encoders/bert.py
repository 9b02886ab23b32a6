"""BERT (Devlin et al. 2018) and RoBERTa (Liu et al. 2019) as Hugging Face's transformers saves them.

An encoder with norms after the sublayers and one after the embeddings, learned positions and segments, and
with masked-language-model heads a dense layer and a norm before the generator. The oldest files call the
weights of norms gamma and beta. RoBERTa's positions begin at row 2 of their table.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.common import (
    POSITION_IDS,
    classifiers,
    note_on_lookalikes,
    read_activation,
)
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    inside,
    may_be,
    of_modules,
    without_first_rows,
)
from transformer.checkpoints.reading.raw import RawCheckpoint

_LAYER: Renames = {
    "attention.self.query": "self_attn.w_q",
    "attention.self.key": "self_attn.w_k",
    "attention.self.value": "self_attn.w_v",
    "attention.output.dense": "self_attn.w_o",
    "attention.output.LayerNorm": "self_attn_norm",
    "intermediate.dense": "feed_forward.w_1",
    "output.dense": "feed_forward.w_2",
    "output.LayerNorm": "feed_forward_norm",
}
_ENCODER: Renames = {
    "embeddings.LayerNorm": "src_embedding.norm",
    **inside(_LAYER, "encoder.layer.{}.", "encoder.layers.{}."),
}
_EMBEDDINGS: Renames = {
    "embeddings.word_embeddings.weight": "src_embedding.weight",
    "embeddings.token_type_embeddings.weight": "src_embedding.segments",
}
_HEAD: Renames = {
    "cls.predictions.transform.dense": "generator_transform.dense",
    "cls.predictions.transform.LayerNorm": "generator_transform.norm",
}

BERT_RENAMES: Renames = {
    **_EMBEDDINGS,
    "embeddings.position_embeddings.weight": "src_embedding.positions.weight",
    **of_modules({**_ENCODER, **_HEAD, "cls.predictions.decoder": "generator"}),
    **of_modules({**_ENCODER, **_HEAD}, gamma="gamma", beta="beta"),
    "cls.predictions.bias": "generator.bias",
}

UNUSED_ROBERTA_ROWS = 2
"""RoBERTa numbers positions from its pad_token_id + 1 on."""

_USUAL_LENGTH = 512

ROBERTA_RENAMES: Renames = {
    **_EMBEDDINGS,
    "embeddings.position_embeddings.weight": Into(
        without_first_rows(UNUSED_ROBERTA_ROWS), "src_embedding.positions.weight"
    ),
    **of_modules(_ENCODER),
    **of_modules(_ENCODER, gamma="gamma", beta="beta"),
    **of_modules(
        {
            "lm_head.dense": "generator_transform.dense",
            "lm_head.layer_norm": "generator_transform.norm",
            "lm_head.decoder": "generator",
        }
    ),
    "lm_head.bias": "generator.bias",
}

_UNUSED_BIAS = "unused.head.bias"
POOLER = "The pooler makes one vector of a sentence for classifiers; no attention depends on it."
NEXT_SENTENCE = "The head that tells whether two sentences follow each other."
IGNORED = {
    "embeddings.position_ids": POSITION_IDS,
    "embeddings.token_type_ids": "Segment 0 for every position, which is what our model takes.",
    "pooler.dense.weight": POOLER,
    "pooler.dense.bias": POOLER,
    "cls.seq_relationship.weight": NEXT_SENTENCE,
    "cls.seq_relationship.bias": NEXT_SENTENCE,
    **classifiers("classifier", "classifier.dense", "classifier.out_proj", "qa_outputs"),
    _UNUSED_BIAS: "The generator has a bias of its own; untied, nothing uses the one beside it.",
}


def is_bert(raw: RawCheckpoint) -> bool:
    """Whether the names are BERT's and no other family's that shares them."""
    return _has_encoder(raw) and may_be(raw, "bert") and not is_roberta(raw)


def is_roberta(raw: RawCheckpoint) -> bool:
    """Whether the names are BERT's and the head or the configuration is RoBERTa's."""
    if not _has_encoder(raw) or not may_be(raw, "roberta", "camembert", "xlm-roberta"):
        return False
    if "model_type" in raw.json("config.json"):
        return True
    parts = {part for stored in raw.tensors.values() for part in stored.name.split(".")[:-1]}
    if "lm_head" in parts or "roberta" in parts:
        return True
    return not parts & {"bert", "cls"} and _has_sizes_of_roberta(raw)


def arrange(raw: RawCheckpoint) -> RawCheckpoint:
    """Where nothing is tied, set aside the bias that the head has beside its generator's."""
    if raw.json("config.json").get("tie_word_embeddings") is not False:
        return raw
    tensors = dict(raw.tensors)
    for head in ("cls.predictions", "lm_head"):
        if {f"{head}.bias", f"{head}.decoder.bias"} <= tensors.keys():
            tensors[_UNUSED_BIAS] = tensors.pop(f"{head}.bias")
    return replace(raw, tensors=tensors)


def _has_sizes_of_roberta(raw: RawCheckpoint) -> bool:
    """Whether there is one kind of segment, or two rows of positions more than texts have tokens."""
    segments = raw.tensors.get("embeddings.token_type_embeddings.weight")
    positions = raw.tensors["embeddings.position_embeddings.weight"]
    one_segment = segments is not None and segments.shape[:1] == (1,)
    return one_segment or positions.shape[:1] == (_USUAL_LENGTH + UNUSED_ROBERTA_ROWS,)


def _has_encoder(raw: RawCheckpoint) -> bool:
    return {
        "embeddings.word_embeddings.weight",
        "embeddings.position_embeddings.weight",
        "encoder.layer.0.attention.self.query.weight",
    } <= raw.tensors.keys()


def read_config(draft: ConfigDraft, *, head: str, unused_rows: int) -> None:
    """From config.json, or from the shapes and answers.

    Args:
        draft: to be filled in.
        head: name of the dense layer before the generator.
        unused_rows: at the beginning of the table of positions.
    """
    draft.size("d_model", "hidden_size", "embeddings.word_embeddings.weight", 1)
    draft.size("src_vocab_size", "vocab_size", "embeddings.word_embeddings.weight", 0)
    draft.size("n_segments", "type_vocab_size", "embeddings.token_type_embeddings.weight", 0)
    draft.size("d_ff", "intermediate_size", "encoder.layer.0.intermediate.dense.weight", 0)
    rows = draft.size("max_len", "max_position_embeddings", "embeddings.position_embeddings.weight", 0)
    if unused_rows:
        _check_first_row(draft)
        why = f"rows of the table of positions, without the first {unused_rows}, which stand for none"
        draft.put("max_len", rows - unused_rows, "config" if draft.config else "shapes", why)
    draft.layers("n_encoder_layers", "num_hidden_layers", "encoder.layer.")
    draft.heads("num_attention_heads")
    read_activation(draft, "hidden_act", "gelu")
    likely = (1e-12, 1e-5)  # the first is also what a config.json without it means
    if draft.config is None and unused_rows:
        likely = likely[::-1]
    draft.number("norm_eps", "layer_norm_eps", likely, "What is added to the variance in a norm?")
    draft.layout("an encoder alone", tgt_vocab_size=0, n_decoder_layers=0)
    draft.layout("every BERT", norm_position="post", embedding_norm=True, embedding_scale=False)
    draft.layout("every BERT", positions="learned", final_norm=False)
    _read_head(draft, head)
    if unused_rows:
        _check_head(draft)
    draft.pad_id(usual=unused_rows - 1 if unused_rows else 0)
    if not draft["has_generator"]:
        note_on_lookalikes(draft, f"{'BERT' if unused_rows else 'RoBERTa'} and others like it")
    _refuse_other_computations(draft)


def _read_head(draft: ConfigDraft, head: str) -> None:
    """Whether there is a masked-language-model head, and whether its matrix is the embedding's."""
    has_head = f"{head}.weight" in draft.raw.tensors
    draft.put("has_generator", has_head, "shapes", f"whether there is {head}.weight")
    draft.put("generator_transform", has_head, "shapes", f"whether there is {head}.weight")
    tied = draft.config is None or draft.config.flag("tie_word_embeddings", True)
    draft.told("tie_generator", tied and has_head, "tie_word_embeddings, which is usual")
    if not has_head:
        draft.note(
            "There is no masked-language-model head in the files: the model gives hidden states and "
            "attention, and proposes no words."
        )


def _check_first_row(draft: ConfigDraft) -> None:
    """RoBERTa's numbering of positions depends on its padding token."""
    if draft.config is not None:
        draft.config.only("pad_token_id", UNUSED_ROBERTA_ROWS - 1, why="positions that begin at another row")


def _check_head(draft: ConfigDraft) -> None:
    """RoBERTa's head always takes GELU."""
    if draft.config is not None and draft["has_generator"]:
        draft.config.only("hidden_act", "gelu", why="layers with another activation than the head has")


def _refuse_other_computations(draft: ConfigDraft) -> None:
    if draft.config is None:
        return
    config = draft.config
    config.only(
        "position_embedding_type", "absolute", why="positions that are relative inside each attention"
    )
    config.only("is_decoder", False, why="a BERT whose later words are hidden from earlier ones")
    config.only("add_cross_attention", False, why="BERT layers that look at another model's memory")
    config.only("embedding_size", draft["d_model"], why="embeddings that are not as wide as the model")
    config.refuse_unknown({"gradient_checkpointing", "output_past"})


BERT = Family(
    name="bert",
    label="BERT",
    matches=is_bert,
    read_config=partial(read_config, head="cls.predictions.transform.dense", unused_rows=0),
    renames=BERT_RENAMES,
    ignored=IGNORED,
    prefixes=("bert.",),
    arrange=arrange,
)

ROBERTA = Family(
    name="roberta",
    label="RoBERTa",
    matches=is_roberta,
    read_config=partial(read_config, head="lm_head.dense", unused_rows=UNUSED_ROBERTA_ROWS),
    renames=ROBERTA_RENAMES,
    ignored=IGNORED,
    prefixes=("roberta.",),
    arrange=arrange,
)
