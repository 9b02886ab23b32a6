"""Transformers of tutorials and repositories, each compared with the computation that its code describes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    padded,
    random_ids,
    raw_of,
)
from tests.transformer.checkpoints.importing.families.reference import (
    HEADS,
    MAX_LEN,
    SRC_VOCAB,
    TGT_VOCAB,
    S,
    Sample,
    T,
    compared,
)
from tests.transformer.checkpoints.importing.families.tutorials.post_norm import (
    aladdinpersson,
    bentrevett,
    d2l,
    fused_tutorial,
    graykode,
    hyunwoongko,
    jadore801120,
    jadore801120_of_2018,
)
from tests.transformer.checkpoints.importing.families.tutorials.pre_norm import (
    annotated,
    gordicaleksa,
    hkproj,
    labml,
    labml_alone,
    samlynnevans,
)
from tests.transformer.checkpoints.importing.families.tutorials.repositories import (
    brandokoch,
    codertimo,
    devjwsong,
    dreamgonfly,
    former,
    joeynmt,
    sooftware,
    tunz,
)


class Case(NamedTuple):
    """A sample and what its import must show.

    Attributes:
        make: makes the sample.
        variant: its arguments.
        asked: names of the questions, in their order.
        config: values that our configuration must have.
        note: words of the only note, apart from the one on biases of zeros; empty for no note.
    """

    make: Callable[..., Sample]
    variant: Mapping[str, Any]
    asked: str
    config: Mapping[str, Any]
    note: str

    def sample(self) -> Sample:
        return self.make(**self.variant)

    def __str__(self) -> str:
        return ", ".join([self.make.__name__, *(f"{name} {value}" for name, value in self.variant.items())])


def case(
    make: Callable[..., Sample],
    asked: str = "n_heads, pad_id",
    config: Mapping[str, Any] | None = None,
    note: str = "",
    **variant: Any,
) -> Case:
    return Case(make, variant, asked, config or {}, note)


COMPUTED = {"positions": "sinusoidal"}
SINUSOIDAL = {"positions": "sinusoidal", "max_len": MAX_LEN}
LEARNED = {"positions": "learned", "max_len": MAX_LEN}
ONE_NORM, SHARED, UNTRAINED = "share one norm", "share their matrices", "never trains them"
ALADDINPERSSON = "scores_divided_by, pad_id"
ANNOTATED = "n_heads, norm_eps, activation, norm_position, embedding_scale, pad_id"
FUSED = "positions, n_heads, norm_eps, activation, merge_heads, norm_position, embedding_scale, pad_id"
GRAYKODE = "rows_of_pos_emb, n_heads, pad_id"
JADORE801120 = "norm_position, place_of_layer_norm, n_heads, pad_id"
JADORE801120_TIED = "norm_position, place_of_layer_norm, n_heads, scale_emb_or_prj, pad_id"
JOEYNMT = "n_heads, activation, embedding_scale, pad_id"
LABML = "n_heads, activation, pad_id"

CASES = (
    case(aladdinpersson, ALADDINPERSSON, {"n_heads": HEADS}, SHARED),
    case(aladdinpersson, ALADDINPERSSON, {"n_heads": HEADS}, SHARED, bias=True),
    case(aladdinpersson, ALADDINPERSSON, {"n_heads": HEADS}, SHARED, divided_by="head"),
    *(
        case(aladdinpersson, f"n_heads, {ALADDINPERSSON}", shared=False, bias=True, divided_by=width)
        for width in ("model", "head")
    ),
    *(
        case(
            annotated,
            ANNOTATED,
            SINUSOIDAL | {"final_norm": outer},
            torch_norms=norms,
            norm_first=first,
            final_norm=outer,
        )
        for norms, first, outer in itertools.product((False, True), repeat=3)
    ),
    case(bentrevett, config=LEARNED),
    case(bentrevett, config=LEARNED, note=ONE_NORM, version="shared norm"),
    case(bentrevett, config=LEARNED, note=ONE_NORM, version="first"),
    case(brandokoch),
    case(codertimo, "n_heads", COMPUTED | {"has_generator": True}),
    case(codertimo, "n_heads", COMPUTED | {"has_generator": False}, "predicts no words", has_heads=False),
    case(codertimo, "n_heads, norm_position", norm_first=False),
    case(d2l, config=COMPUTED | {"attention_bias": False}),
    case(d2l, config=COMPUTED | {"attention_bias": True}, bias=True, named=False),
    case(devjwsong, "exponents, n_heads, pad_id", note="doubles"),
    case(devjwsong, "exponents, n_heads, pad_id", exponents="paper"),
    case(dreamgonfly, "n_heads, norm_eps, pad_id"),
    case(dreamgonfly, "n_heads, norm_eps, row_of_source, pad_id", is_tied=False),
    case(former, "n_heads, scores_divided_by"),
    case(former, "", kind="wide"),
    case(former, "scores_divided_by", kind="narrow"),
    case(former, "scores_divided_by", kind="normed"),
    case(fused_tutorial, FUSED),
    case(fused_tutorial, FUSED, note="without transposing back", transposes_back=False),
    case(fused_tutorial, FUSED, {"norm_position": "pre", "norm_eps": 0.1}, norm_first=True, eps=0.1),
    case(gordicaleksa, config=SINUSOIDAL),
    *(
        case(graykode, GRAYKODE, {"positions": "learned"}, rows=rows)
        for rows in ("of_example", "from_0", "from_1")
    ),
    case(graykode, GRAYKODE, {"positions": "learned"}, UNTRAINED, stores_norms=False),
    case(graykode, config=COMPUTED | {"bias": False, "d_head": 11}, copied=True),
    case(graykode, config=COMPUTED | {"d_head": 11}, note=UNTRAINED, copied=True, stores_norms=False),
    case(hkproj, config={"max_len": MAX_LEN, "attention_bias": False}),
    case(hkproj, config={"max_len": MAX_LEN, "attention_bias": True}, first_version=True),
    *(
        case(hyunwoongko, "n_heads, norm, split_heads, pad_id", COMPUTED | {"max_len": length}, **variant)
        for length, variant in (
            (1024, {"norm": "layer"}),
            (1024, {"norm": "layer_unbiased"}),
            (MAX_LEN, {"norm": "layer", "stored": True}),
            (MAX_LEN, {"norm": "layer_unbiased", "stored": True}),
        )
    ),
    case(jadore801120, JADORE801120, SINUSOIDAL),
    case(jadore801120, JADORE801120, {"final_norm": True, "embedding_norm": False}, norm_first=True),
    case(jadore801120, JADORE801120, {"d_head": 11}, d_k=11),
    *(case(jadore801120, JADORE801120_TIED, SINUSOIDAL, scaled=scaled) for scaled in ("prj", "emb", "none")),
    case(jadore801120_of_2018, config=LEARNED),
    case(joeynmt, JOEYNMT),
    case(joeynmt, JOEYNMT, norm_first=False, is_tied=True),
    case(labml, LABML, SINUSOIDAL | {"gated": False}),
    case(labml, LABML, SINUSOIDAL | {"gated": True}, bias=False, gated=True),
    case(labml, LABML, LEARNED | {"gated": True}, gated=True, is_learned=True),
    case(labml, LABML, LEARNED | {"gated": False}, bias=False, is_learned=True),
    case(labml_alone, f"causal, {LABML}", {"kind": "encoder-only"}),
    case(labml_alone, f"causal, {LABML}", {"kind": "decoder-only"}, is_causal=True),
    case(samlynnevans, config=LEARNED, note="doubles"),
    case(samlynnevans, config=SINUSOIDAL, exponents="paper"),
    case(sooftware, "n_heads, row_of_pe, pad_id"),
    case(sooftware, "n_heads, row_of_pe, pad_id", convolutions=True),
    case(tunz, "n_heads, decoder_begins_with, pad_id"),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_parity(tmp_path: Path, case: Case) -> None:
    found = compared(tmp_path, case.sample(), **case.config)
    assert ", ".join(found.asked) == case.asked
    notes = [
        note for note in found.report.notes if not note.endswith("zeros replace them, which adds nothing.")
    ]
    assert [case.note in note for note in notes] == [True] * bool(case.note), notes


def test_what_is_decoded_step_by_step_is_what_the_whole_target_gives(tmp_path: Path) -> None:
    """Where a token gets parts of later ones, nothing can be cached between steps."""
    theirs = fused_tutorial(transposes_back=False)
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict), theirs.answers)
    src, tgt = padded(random_ids(SRC_VOCAB, 2, S), 1, 4), random_ids(TGT_VOCAB, 4, T, seed=1)
    state = ours.start(src)
    state.select(torch.tensor([0, 1]), torch.tensor([0, 0, 1, 1]))
    with torch.no_grad():
        for length in range(1, T + 1):
            logits = ours.step(tgt[:, length - 1 : length], state)
            whole = theirs.theirs(src.repeat_interleave(2, dim=0), tgt[:, :length])
            assert close(logits[:, 0], whole[:, -1])
