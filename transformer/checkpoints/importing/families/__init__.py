"""The families of checkpoints in the order they are tried: layouts in files, then those that need Python."""

from __future__ import annotations

from transformer.checkpoints.importing.families import headlight
from transformer.checkpoints.importing.families.hugging_face.decoders.llama_like import (
    gemma,
    gemma2,
    gemma3,
    smollm3,
)
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    bart,
    blenderbot,
    fsmt,
    m2m_100,
    marian,
    pegasus,
    t5,
    whisper,
)
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
    torch_transformer,
)
from transformer.checkpoints.importing.families.tutorials import (
    aladdinpersson,
    bentrevett,
    d2l,
    gordicaleksa,
    graykode,
    hkproj,
    hyunwoongko,
    jadore801120,
    labml,
    samlynnevans,
)
from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.importing.layout.shipped import family, names

FAMILIES: tuple[Family, ...] = (
    headlight.FAMILY,
    *map(family, names()),
    video_lecture.FAMILY,
    raschka.GPT,
    raschka.ROTARY,
    meta_llama.FAMILY,
    gemma.FAMILY,
    smollm3.FAMILY,
    gemma2.FAMILY,
    gemma3.FAMILY,
    whisper.FAMILY,
    fairseq.FAMILY,
    marian_npz.FAMILY,
    open_nmt.FAMILY,
    fsmt.FAMILY,
    x_transformers.FAMILY,
    marian.FAMILY,
    bart.BART,
    bart.MBART,
    m2m_100.FAMILY,
    pegasus.FAMILY,
    blenderbot.FAMILY,
    blenderbot.SMALL,
    t5.FAMILY,
    annotated.FAMILY,
    fused_tutorial.FAMILY,
    hkproj.FAMILY,
    hyunwoongko.FAMILY,
    bentrevett.FAMILY,
    gordicaleksa.FAMILY,
    samlynnevans.FAMILY,
    jadore801120.FAMILY,
    graykode.FAMILY,
    aladdinpersson.FAMILY,
    d2l.FAMILY,
    labml.FAMILY,
    torch_transformer.FAMILY,
)
