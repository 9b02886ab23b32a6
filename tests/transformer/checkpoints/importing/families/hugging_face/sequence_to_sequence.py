"""Compares Hugging Face's encoder-decoders with ours: everything both compute, and greedy targets."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch import Tensor

from tests.transformer.checkpoints.importing.families.foreign import close, padded, random_ids
from tests.transformer.checkpoints.importing.families.hugging_face.small_models import assert_same_stack
from tests.transformer.model.core import trace_of
from transformer.decoding.greedy import greedy_batch
from transformer.decoding.request import DecodingRequest
from transformer.model.transformer import Transformer

BATCH, S, T = 3, 11, 7


def with_logits_bias(model: Any) -> Any:
    """Set a random bias of the logits: it is a buffer, which `randomized` leaves at zero."""
    model.final_logits_bias.normal_(std=0.1, generator=torch.Generator().manual_seed(1))
    return model


@torch.no_grad()
def lively(model: Any) -> Any:
    """Shrink biases and enlarge embeddings: otherwise the model repeats one word whatever the source."""
    for name, parameter in model.named_parameters():
        if name.endswith("bias") and parameter.dim() == 1:
            parameter.mul_(0.1)
        elif "shared" in name or "embed_tokens" in name or "lm_head" in name:
            parameter.mul_(3)
    return model


def assert_parity(ours: Transformer, theirs: Any, *, start_id: int, first: int = 3) -> None:
    """Compare logits, all attention matrices and hidden states of a padded batch at all words."""
    pad_id, config = ours.config.pad_id, ours.config
    src = padded(random_ids(config.src_vocab_size, BATCH, S, first=first), pad_id, 6)
    tgt = random_ids(config.tgt_vocab_size, BATCH, T, first=first, seed=1)
    tgt[:, 0] = start_id
    tgt = padded(tgt, pad_id, 4)
    src_words, tgt_words = src != pad_id, tgt != pad_id
    tgt_words[:, 0] = True
    with torch.no_grad():
        expected = theirs(
            input_ids=src,
            attention_mask=src_words.long(),
            decoder_input_ids=tgt,
            decoder_attention_mask=tgt_words.long(),
            output_attentions=True,
            output_hidden_states=True,
        )
    trace = trace_of(ours, src, tgt)
    assert close(trace["logits"][tgt_words], expected.logits[tgt_words])
    assert_same_stack(trace, "encoder", _Stack(expected, "encoder"), src_words)
    assert_same_stack(trace, "decoder", _Stack(expected, "decoder"), tgt_words)
    assert trace.n_layers("decoder") == len(expected.cross_attentions)
    for i, theirs_in_layer in enumerate(expected.cross_attentions):
        weights = trace.attention("decoder", i, "cross_attn").weights
        for row, words in enumerate(tgt_words):
            assert close(weights[row][:, words], theirs_in_layer[row][:, words])


class _Stack:
    """The attentions and hidden states of one stack of an encoder-decoder."""

    def __init__(self, output: Any, stack: str) -> None:
        self.attentions: tuple[Tensor, ...] = output[f"{stack}_attentions"]
        self.hidden_states: tuple[Tensor, ...] = output[f"{stack}_hidden_states"]


def assert_same_targets(ours: Transformer, theirs: Any, *, start_id: int, n: int = 9) -> None:
    """Compare greedy targets of a padded batch token for token: several prefixes, some with an end token."""
    vocab_size, pad_id = ours.config.tgt_vocab_size, ours.config.pad_id
    src = padded(random_ids(ours.config.src_vocab_size, BATCH, S), pad_id, 6)
    beginnings = [[start_id, *random_ids(vocab_size, length, seed=length).tolist()] for length in range(6)]

    def targets(start_ids: list[int], end_ids: list[int]) -> list[list[int]]:
        request = DecodingRequest(
            start_ids=start_ids, end_ids=end_ids, max_new_tokens=n, suppressed_ids=(pad_id,)
        )
        return [list(target.ids) for target in greedy_batch(ours, src, request)]

    endless = [target for start_ids in beginnings for target in targets(start_ids, [])]
    (end_id, _), *others = Counter(token for target in endless for token in target).most_common()
    assert len(others) >= 3, "there is something to compare"
    lengths = set()
    for start_ids in beginnings:
        generated = theirs.generate(
            input_ids=src,
            attention_mask=(src != pad_id).long(),
            decoder_start_token_id=start_id,
            decoder_input_ids=torch.tensor([start_ids] * BATCH),
            do_sample=False,
            num_beams=1,
            max_new_tokens=n,
            eos_token_id=end_id,
            pad_token_id=pad_id,
            forced_eos_token_id=None,
            suppress_tokens=[pad_id],
            use_cache=False,  # their cache has as many layers as the encoder, even if the decoder has more
        )
        expected = [until(row[len(start_ids) :], end_id) for row in generated.tolist()]
        assert targets(start_ids, [end_id]) == expected
        lengths |= set(map(len, expected))
    assert len(lengths) > 1, "some end earlier than others"


def until(ids: list[int], end_id: int) -> list[int]:
    """The ids before the end token, or all of them."""
    return ids[: ids.index(end_id)] if end_id in ids else ids
