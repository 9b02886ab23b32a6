"""Mistakes that leave the future or padding unmasked."""

from __future__ import annotations

from dataclasses import replace

import torch

from transformer.analysis.stepping import source_attention, stepping
from transformer.loaded import LoadedModel
from transformer.model_input import Input, beginning, encoder_input
from transformer.run import force, generate, read
from transformer.training.leaks import LEAKS, see_the_future
from viz.pages.lab.mistakes.breaking import (
    altered_model,
    broken_by,
    candidates,
    with_steps_of,
)
from viz.pages.lab.mistakes.fitting import needs_padding, needs_prediction
from viz.pages.lab.mistakes.measuring import closed_cells, leaks
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake
from viz.pages.lab.mistakes.seen import issue

NOT_CAUSAL = Mistake(
    name="no-causal-mask",
    title=LEAKS["no-causal-mask"].title,
    group="masks",
    level=1,
    what=(
        "The decoder may look at the whole target. In training the token that it must predict is among what "
        "it reads, so it learns to copy it: the loss falls close to 0, and what it writes by itself, with "
        "nothing to copy from, is worthless. A model that was trained with a mask, as here, is confused by "
        "tokens that it never saw in training."
    ),
    wrong="mask = (tgt != pad_id)[:, None, None, :]",
    right=(
        "mask = (tgt != pad_id)[:, None, None, :]\nmask = mask & torch.ones(length, length).tril().bool()"
    ),
    seen=(
        issue(
            "pytorch/tutorials",
            2478,
            "The tutorial's language model got no mask. It reached a perplexity of 2.9 and could not "
            "continue a text.",
        ),
        issue(
            "alex-matton/causal-transformer-decoder",
            1,
            "There was no way to give a mask in training; a reader found that the model copied.",
        ),
        issue(
            "huggingface/transformers",
            48745,
            "Four decoders lost their causal mask in an update: trained on random tokens, the loss fell "
            "close to 0.",
        ),
    ),
    find=(
        "changed = tgt.clone()\n"
        "changed[:, -1] = another_id\n"
        "before, after = model(src, tgt), model(src, changed)\n"
        "assert torch.equal(before[:, :-1], after[:, :-1])"
    ),
    broken=broken_by(see_the_future),
    symptom=leaks,
    unfit=needs_prediction,
    leak=LEAKS["no-causal-mask"],
)

_N_PADDING = 4
"""Padding tokens: as in a batch whose longest sentence is longer by this many."""


def _followed_by_padding(loaded: LoadedModel, whole: Input) -> Input:
    pad_id = loaded.model.config.pad_id
    n = max(0, min(_N_PADDING, loaded.model.config.max_len - len(whole.ids)))
    return replace(
        whole, ids=(*whole.ids, *[pad_id] * n), tokens=(*whole.tokens, *[loaded.source.token(pad_id)] * n)
    )


def _padding_unmasked(case: Case) -> Broken:
    run, top_k = case.run, candidates(case.run)
    loaded = altered_model(case.loaded, stepping(source_attention, remask=torch.ones_like))
    if run.decoder_input is None:
        whole = _followed_by_padding(loaded, encoder_input(loaded, run.source))
        sound, broken = (read(one, run.source, top_k=top_k, whole=whole) for one in (case.loaded, loaded))
        return Broken(loaded, broken, sound)
    begin = beginning(loaded, run.source)
    assert begin.encoder is not None
    begin = replace(begin, encoder=_followed_by_padding(loaded, begin.encoder))
    sound, broken = (
        with_steps_of(run, force(one, run.source, run.target, ends=run.finished, begin=begin), one)
        for one in (case.loaded, loaded)
    )
    writes = loaded.model.config.has_generator
    free = generate(loaded, run.source, top_k=top_k, begin=begin) if writes else None
    return Broken(loaded, broken, sound, free)


PADDING = Mistake(
    name="padding-unmasked",
    title="Padding not masked",
    group="masks",
    level=2,
    what=(
        "The sentence stands in a batch with a longer one, and is filled up with padding that no mask "
        "closes. Its words look at the padding as if it were text, so its translation depends on which "
        "sentences happen to be beside it. Here the source is followed by 4 tokens of padding."
    ),
    wrong="memory = encoder(src, mask=None)",
    right="mask = (src != pad_id)[:, None, None, :]\nmemory = encoder(src, mask=mask)",
    seen=(
        issue(
            "jingyaogong/minimind-v",
            76,
            "Padding was left out of the loss only: in the attention it was read like any other token.",
        ),
        issue(
            "pytorch/pytorch",
            22374,
            "nn.Transformer first came without a way to mask the padding of each sentence.",
        ),
    ),
    find=(
        "alone = model(src[:1, :length], tgt[:1])\n"
        "assert torch.allclose(alone, model(src, tgt)[:1], atol=1e-4)"
    ),
    broken=_padding_unmasked,
    symptom=closed_cells,
    unfit=needs_padding,
)

HIDING_MISTAKES = (NOT_CAUSAL, PADDING)
