"""The layouts of checkpoints that are known, one module each, in the order in which they are tried."""

from __future__ import annotations

from transformer.checkpoints.importing.families import headlight
from transformer.checkpoints.importing.families.hugging_face.decoders import gpt2, llama
from transformer.checkpoints.importing.families.hugging_face.encoders import bert, distilbert
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import bart, marian, t5
from transformer.checkpoints.importing.families.language_models import meta_llama, raschka, video_lecture
from transformer.checkpoints.importing.families.toolkits import (
    fairseq,
    marian_npz,
    open_nmt,
    x_transformers,
)
from transformer.checkpoints.importing.families.torch_modules import (
    annotated,
    fused_tutorial,
    nanogpt,
    torch_transformer,
)
from transformer.checkpoints.importing.family import Family

FAMILIES: tuple[Family, ...] = (
    headlight.FAMILY,
    bert.BERT,
    bert.ROBERTA,
    distilbert.FAMILY,
    nanogpt.FAMILY,
    video_lecture.FAMILY,
    raschka.GPT,
    raschka.ROTARY,
    meta_llama.FAMILY,
    gpt2.FAMILY,
    llama.FAMILY,
    fairseq.FAMILY,
    marian_npz.FAMILY,
    open_nmt.FAMILY,
    x_transformers.FAMILY,
    marian.FAMILY,
    bart.BART,
    bart.MBART,
    t5.FAMILY,
    annotated.FAMILY,
    fused_tutorial.FAMILY,
    torch_transformer.FAMILY,
)
