"""Mistakes in the scale of the embeddings."""

from __future__ import annotations

from collections.abc import Callable

from transformer.analysis.variants import Change
from transformer.model.embedding import Embedding
from transformer.model.transformer import Transformer
from transformer.run import Run
from viz.pages.lab.mistakes.breaking import broken_by
from viz.pages.lab.mistakes.fitting import (
    needs_embedding_scale,
)
from viz.pages.lab.mistakes.mistake import Broken, Case, Mistake, Symptom
from viz.pages.lab.mistakes.seen import issue


def _scaled_by(scale: Callable[[float], float]) -> Change:
    def change(model: Transformer) -> None:
        for module in model.modules():
            if isinstance(module, Embedding):
                module.scale = scale(module.scale)

    return change


def _embedding_scale(case: Case, run: Run) -> float:
    """The factor applied to a token's row of the matrix."""
    side, read = (
        ("tgt_embedding", run.decoder_input)
        if run.encoder_input is None
        else ("src_embedding", run.encoder_input)
    )
    assert read is not None
    rows = case.loaded.model.get_parameter(f"{side}.weight").detach().cpu()[list(read.ids)]
    return float(run.trace[f"{side}.tokens"][0].norm() / rows.norm())


def embedding_scales(case: Case, broken: Broken) -> Symptom:
    """The factor applied to embeddings, which should be √d_model."""
    return Symptom(
        what="What a token's row of the embedding matrix is multiplied by",
        sound=_embedding_scale(case, broken.sound),
        broken=_embedding_scale(case, broken.run),
        limit=case.loaded.model.config.d_model**0.25,
    )


_FIND_SCALE = (
    "ratio = embedded.norm() / embedding.weight[tokens].norm()\n"
    "assert math.isclose(ratio, math.sqrt(d_model), rel_tol=1e-5)"
)

EMBEDDINGS_UNSCALED = Mistake(
    name="embeddings-unscaled",
    title="Embeddings not multiplied by √d_model",
    group="positions and embeddings",
    level=2,
    what=(
        "Embeddings are added to the positions as they are. Their numbers are about 1/√d_model in size and "
        "those of the positions up to 1, so that which token it is gets lost beside where it stands."
    ),
    wrong="x = embedding(tokens) + positions",
    right="x = embedding(tokens) * math.sqrt(d_model) + positions",
    seen=(
        issue("jayparks/transformer", 16, "A reader lists the factor among the differences from the paper."),
        issue(
            "harvardnlp/annotated-transformer",
            60,
            "A reader asks what the factor is for, and finds that results are bad without it.",
        ),
    ),
    find=_FIND_SCALE,
    broken=broken_by(_scaled_by(lambda scale: 1.0), cached=True),
    symptom=embedding_scales,
    unfit=needs_embedding_scale,
)

EMBEDDINGS_DIVIDED = Mistake(
    name="embeddings-divided",
    title="Embeddings divided by √d_model",
    group="positions and embeddings",
    level=2,
    what=(
        "The factor of the embeddings is taken for that of the attention, and they are divided instead of "
        "multiplied. Beside the positions, tokens become d_model times too small: to the model every "
        "sentence of one length looks the same."
    ),
    wrong="x = embedding(tokens) / math.sqrt(d_model) + positions",
    right="x = embedding(tokens) * math.sqrt(d_model) + positions",
    seen=(
        issue("krasserm/perceiver-io", 9),
        issue(
            "pytorch/tutorials",
            2849,
            "A reader proposes to divide; section 3.4 of the paper settles that it is a product.",
        ),
        issue(
            "Kyubyong/transformer",
            15,
            "A change that would divide; the answer: the division belongs to the attention.",
        ),
    ),
    find=_FIND_SCALE,
    broken=broken_by(_scaled_by(lambda scale: 1 / scale), cached=True),
    symptom=embedding_scales,
    unfit=needs_embedding_scale,
)


EMBEDDING_MISTAKES = (EMBEDDINGS_UNSCALED, EMBEDDINGS_DIVIDED)
