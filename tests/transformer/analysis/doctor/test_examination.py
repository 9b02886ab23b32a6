"""A healthy model gets a clean bill; a model that is broken in one way gets that finding and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.crosses import full
from tests.support.kinds import KINDS
from tests.support.models import tiny_model, tiny_subword_model
from tests.transformer.analysis.doctor.patients import (
    Weights,
    broken,
    complaints,
    imported,
    pre_norm_model,
    with_model,
)
from transformer.analysis.doctor.behaviour import allowed_later_difference, causality_findings
from transformer.analysis.doctor.examine import CHECKS, NOT_MADE, NextCheck, Patient, examine, examine_model
from transformer.analysis.doctor.findings import places, rounded, share
from transformer.checkpoints.opening import open_model
from transformer.loaded import LoadedModel
from transformer.model.attention import NO_POSITIONS, MultiHeadAttention, PositionInfo
from transformer.model.cache import KeyValueCache
from transformer.model.embedding import Embedding
from transformer.model.layers import DecoderLayer
from transformer.model.trace import NO_TAP, Tap
from transformer.text.coder import SentenceCoder, SpecialTokens
from transformer.text.ids import IdCoder

D_HEAD = 10
"""For the tiny models: d_model 30, 3 heads."""
W_Q, W_K, W_V, W_O = (f"encoder.layers.0.self_attn.w_{letter}" for letter in "qkvo")
FEED_FORWARD_NORM = "encoder.layers.1.feed_forward_norm.gamma"
HEALTHY = "my favourite animal is the raccoon.\nyesterday i saw a raccoon."
NOTED = {("en-it", text): {("sinks", "note")} for text in ("", HEALTHY)}
"""(model, text) -> (check, severity) of each finding that is not "ok"."""


@pytest.mark.parametrize("name", ["toy-en-it", pytest.param("en-it", marks=pytest.mark.slow)])
@pytest.mark.parametrize("text", ["", HEALTHY])
def test_a_shipped_model_gets_a_clean_bill(name: str, text: str) -> None:
    """The attention of en-it rests on <eos>, as in many trained models; that is a note, not a problem."""
    diagnosis = examine(imported(open_model(name)), text)
    noted = [finding for finding in diagnosis.findings if finding.severity != "ok"]
    assert {(finding.check, finding.severity) for finding in noted} == NOTED.get((name, text), set())
    assert all("<eos>" in finding.title for finding in noted)
    assert diagnosis.clean
    expected = [check.name for check in CHECKS if text or check.name != "unknown tokens"]
    assert list(diagnosis.checks) == expected, "all are listed"
    checked = [finding.check for finding in diagnosis.findings if finding not in noted[1:]]
    assert checked == expected, "each once, but for what is noted in several places"


def test_an_open_model_is_examined_without_its_files() -> None:
    """Every check that needs no files gives the same findings, for a sound and for a broken model."""
    damaged = broken(tiny_model(), write(f"{W_Q}.weight", 0.0))
    for loaded in (tiny_model(), damaged):
        whole, alone = examine(imported(loaded), HEALTHY), examine_model(loaded, HEALTHY)
        of_files = {check.name for check in CHECKS if check.needs == "files"}
        assert of_files == {"layout", "keys", "tied weights", "answers"}
        assert alone.checks == tuple(name for name in whole.checks if name not in of_files)
        assert alone.findings == tuple(f for f in whole.findings if f.check not in of_files)
        assert alone.parts == whole.parts
    assert not examine_model(damaged).clean


def test_a_text_without_a_known_word_is_replaced_by_random_words_that_run_once() -> None:
    patient = Patient(tiny_model(), "qqq zzz")
    assert patient.probes is patient.drawn
    assert patient.wide_view is patient.view
    known = Patient(tiny_subword_model(), HEALTHY)
    assert known.wide_view is not known.view


FORMS: list[dict[str, Any]] = [
    {},
    {"norm_position": "pre", "final_norm": True, "positions": "learned"},
    {"n_encoder_layers": 0, "src_vocab_size": 0},
    {"n_decoder_layers": 0, "tgt_vocab_size": 0},
    {"tie_generator": False, "bias": False, "norm": "rms", "gated": True, "activation": "silu"},
    {"positions": "relative", "attention_scale": False, "n_kv_heads": 1, "has_generator": False},
    {"positions": "rotary", "n_encoder_layers": 0, "src_vocab_size": 0, "pad_id": -1},
    {"norm_position": "both", "attention_soft_cap": 2.0, "logits_soft_cap": 3.0, "residual_scale": 0.5},
    {"positions": "rotary", "position_bases": (9.0, 30.0, 9.0, 0.0, 50.0), "rotary_dims": 4},
    {"attention_windows": (2, 0, 3, 0, 1), "attention_scale": 0.3},
    {"positions": "alibi", "norm_position": "output", "query_key_norm": "across_heads", "n_kv_heads": 1},
    {"positions": "relative", "relative_bias_per_layer": True, "query_key_norm": "each_head"},
    {"shared_layers": True, "d_embedding": 14, "generator_transform": True, "position_offset": 2},
]
"""Each changes something that the doctor examines."""


@pytest.mark.parametrize("changes", FORMS)
def test_a_random_model_gets_a_clean_bill(changes: dict[str, Any]) -> None:
    assert complaints(tiny_model(**changes)) == []


@pytest.mark.parametrize("changes", [FORMS[0], *full(*FORMS[1:])])
def test_a_random_model_of_sub_words_gets_a_clean_bill(changes: dict[str, Any]) -> None:
    assert complaints(tiny_subword_model(1, **changes)) == []


def test_what_does_not_fit_the_kind_of_model_is_not_listed() -> None:
    encoder = examine(imported(tiny_model(n_decoder_layers=0, tgt_vocab_size=0)))
    assert not {"later tokens", "cached decoding"} & set(encoder.checks)
    assert {"padding", "inputs matter", "sinks"} <= set(encoder.checks)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_decoder_layers": 0, "tgt_vocab_size": 0},
        {"n_encoder_layers": 0, "src_vocab_size": 0, "pad_id": -1, "n_heads": 1},
        {"merge_heads": "untransposed"},
    ],
)
def test_every_check_that_fits_not_every_model_has_a_reason(changes: dict[str, Any]) -> None:
    diagnosis = examine(imported(tiny_model(**changes)))
    left_out = [check for check in CHECKS if check.name not in diagnosis.checks]
    assert len(left_out) > 1
    assert all(check.unfit for check in left_out)


def head_rows(head: int) -> slice:
    return slice(head * D_HEAD, (head + 1) * D_HEAD)


def write(name: str, value: float, *places: int | slice) -> Callable[[Weights], object]:
    def damage(weights: Weights) -> None:
        weights[name][places or (...,)] = value

    return damage


def repeat_head(weights: Weights) -> None:
    for name in (W_Q, W_K, W_V):
        for part in (f"{name}.weight", f"{name}.bias"):
            weights[part][head_rows(2)] = weights[part][head_rows(0)]
    weights[f"{W_O}.weight"][:, head_rows(2)] = weights[f"{W_O}.weight"][:, head_rows(0)]


def half_negative(weights: Weights) -> None:
    weights[FEED_FORWARD_NORM][::2] *= -1


def same_rows(weights: Weights) -> None:
    weights["src_embedding.weight"][:] = weights["src_embedding.weight"][5].clone()


def look_at_one_position(weights: Weights) -> None:
    """Head 1 of the first layer looks at the third position, whatever its token."""
    weights["src_embedding.positions.weight"][:, 0] = 0
    weights["src_embedding.positions.weight"][2, 0] = 9
    weights["src_embedding.weight"][:, 0] = 0
    weights[f"{W_Q}.weight"][head_rows(1)] = 0
    weights[f"{W_Q}.bias"][head_rows(1)] = 5
    weights[f"{W_K}.weight"][head_rows(1)] = 0
    weights[f"{W_K}.weight"][head_rows(1), 0] = 5


def look_at_the_end(weights: Weights) -> None:
    """Every head of the encoder attends to <eos>."""
    weights["src_embedding.weight"][:, 0] = 0
    weights["src_embedding.weight"][2, 0] = 20
    for layer in range(2):
        attention = f"encoder.layers.{layer}.self_attn"
        generator = torch.Generator().manual_seed(layer)
        weights[f"{attention}.w_q.bias"][:] = 4 + torch.rand(30, generator=generator)
        weights[f"{attention}.w_k.weight"][:, 0] = 4 + torch.rand(30, generator=generator)


def test_what_is_damaged_below_was_healthy() -> None:
    assert complaints(pre_norm_model()) == []


@pytest.mark.parametrize(
    "damage, check, severity",
    [
        (write(f"{W_Q}.weight", float("nan"), 3, 4), "finite", "problem"),
        (write("tgt_embedding.weight", float("-inf"), 1), "finite", "problem"),
        (write("encoder.layers.0.feed_forward.w_1.weight", 0.0), "constant", "warning"),
        (write("decoder.layers.2.feed_forward.w_2.weight", 0.01), "constant", "warning"),
        (write(f"{W_O}.weight", 0.0, slice(None), head_rows(1)), "dead heads", "warning"),
        (write(f"{W_V}.weight", 1e-9, head_rows(2)), "dead heads", "warning"),
        (repeat_head, "duplicate heads", "warning"),
        (write(FEED_FORWARD_NORM, 0.0), "norms", "problem"),
        (write(FEED_FORWARD_NORM, 0.0, slice(3)), "norms", "warning"),
        (half_negative, "norms", "warning"),
        (write(FEED_FORWARD_NORM, 500.0, 7), "norms", "warning"),
        (same_rows, "inputs matter", "problem"),
        (write(f"{W_Q}.weight", 0.0, head_rows(0)), "uniform attention", "warning"),
    ],
)
def test_each_damage_is_found_and_nothing_else(
    damage: Callable[[Weights], object], check: str, severity: str
) -> None:
    assert complaints(broken(pre_norm_model(), damage)) == [(check, severity)]


def test_numbers_have_a_minus_sign() -> None:
    assert [rounded(4.2e-7), rounded(0.0123, digits=3), rounded(0)] == ["4.2e−07", "0.0123", "0"]


def test_heads_count_from_0() -> None:
    pruned = broken(pre_norm_model(), write(f"{W_O}.weight", 0.0, slice(None), head_rows(0)))
    (dead,) = examine(imported(pruned)).of("warning")
    assert dead.where.endswith(" head 0")
    (twins,) = examine(imported(broken(pre_norm_model(), repeat_head))).of("warning")
    assert twins.where.endswith(" heads 0 and 2")


def test_a_head_that_looks_at_one_position() -> None:
    healthy = tiny_model(positions="learned")
    assert complaints(healthy) == []
    diagnosis = examine(imported(broken(healthy, look_at_one_position)))
    (finding,) = diagnosis.of("problem", "warning")
    assert (finding.check, finding.severity) == ("collapsed attention", "warning")
    assert finding.where == "encoder.layers.0.self_attn head 1"


def test_attention_that_rests_on_the_end() -> None:
    healthy = pre_norm_model(tie_generator=False)
    assert complaints(healthy) == []
    diagnosis = examine(imported(broken(healthy, look_at_the_end)))
    (finding,) = diagnosis.of("problem", "warning")
    assert (finding.check, finding.severity) == ("sinks", "warning")
    assert finding.title == "Attention that rests on <eos>"
    assert finding.number == (
        "6 of 6 heads of the encoder's self-attention give it more than 50 %; the mean is 100 %"
    )


class Peeking(MultiHeadAttention):
    """Opens to all queries each key that any query may see, including future ones."""

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        tap: Tap = NO_TAP,
        cache: KeyValueCache | None = None,
        positions: PositionInfo = NO_POSITIONS,
    ) -> Tensor:
        assert mask is not None or cache is not None
        opened = None if mask is None else mask.any(dim=-2, keepdim=True)
        return super().forward(x, memory, opened, tap, cache, positions)


class AtTheStart(Embedding):
    """Starts at position 0 at every decoding step."""

    def forward(self, ids: Tensor, tap: Tap = NO_TAP, start: int = 0) -> Tensor:
        return super().forward(ids, tap)


def test_a_decoder_that_sees_the_future() -> None:
    loaded = broken(pre_norm_model(), lambda weights: None)
    layer = loaded.model.decoder.layers[1]
    assert isinstance(layer, DecoderLayer)
    layer.self_attn.__class__ = Peeking
    assert complaints(loaded) == [("later tokens", "problem")]


def test_heads_that_are_merged_untransposed() -> None:
    """Heads then mix other tokens, later ones included, and differently for each length."""
    loaded = tiny_model(merge_heads="untransposed")
    assert complaints(loaded) == [("later tokens", "problem"), ("padding", "problem")]
    assert not {"dead heads", "duplicate heads"} & set(examine(imported(loaded)).checks)


def test_decoding_whose_positions_stand_still() -> None:
    loaded = broken(pre_norm_model(), lambda weights: None)
    loaded.model.tgt_embedding.__class__ = AtTheStart
    assert complaints(loaded) == [("cached decoding", "problem")]


def test_padding_that_cross_attention_sees_as_it_did_in_training() -> None:
    loaded = tiny_model(memory_padding_mask=False)
    assert complaints(loaded) == []
    (note,) = (one for one in examine(imported(loaded)).of("note") if one.check == "padding")
    assert "memory_padding_mask is False" in note.meaning


def test_padding_that_the_model_takes_for_a_word() -> None:
    diagnosis = examine(imported(pre_norm_model(pad_id=5)))
    (finding,) = diagnosis.of("problem", "warning")
    assert (finding.check, finding.severity) == ("padding", "problem")
    assert "masks id 5, the tokenizer pads with 0" in finding.advice


@pytest.mark.parametrize("rows, severities", [(11, ["problem"]), (13, []), (140, []), (400, ["warning"])])
def test_a_tokenizer_of_another_size(rows: int, severities: list[str]) -> None:
    words = tiny_model()
    found = complaints(with_model(words, pre_norm_model(src_vocab_size=rows).model))
    assert found == [("vocabulary size", severity) for severity in severities]


class EndsOutside(SentenceCoder):
    special_tokens = SpecialTokens(pad=0, bos=1, eos=99, unk=3, suppressed=(0, 1))


def test_a_special_token_without_a_row() -> None:
    words = tiny_model()
    assert isinstance(words.target, SentenceCoder)
    coder = EndsOutside(words.target.tokenizer, words.target.vocabulary)
    assert complaints(LoadedModel("tiny", words.model, words.source, coder)) == [
        ("special tokens", "problem")
    ]


@pytest.mark.parametrize(
    "text, severities",
    [
        ("the dog saw a cat.", []),
        ("the dog saw a cat. the dog saw the cat. i see the fox.", ["note"]),
        ("the fox saw a cat.", ["warning"]),
    ],
)
def test_words_that_are_not_known(text: str, severities: list[str]) -> None:
    diagnosis = examine(imported(tiny_model()), text)
    found = [finding for finding in diagnosis.findings if finding.check == "unknown tokens"]
    assert [finding.severity for finding in found if finding.severity != "ok"] == severities
    assert diagnosis.clean == ("warning" not in severities)


def test_unknown_words_are_named() -> None:
    (finding,) = examine(imported(tiny_model()), "the fox saw a Fox and a yak.").of("warning")
    assert finding.where == "fox, Fox, and, yak"
    assert finding.number == "4 of the text's 9 tokens, 44 %"


def test_what_cannot_be_looked_at_says_why() -> None:
    lost = examine(imported(broken(tiny_model(), write(f"{W_Q}.weight", float("nan")))))
    (note,) = (finding for finding in lost.findings if finding.check == NOT_MADE)
    assert note.title == "10 checks were not made"
    assert "NaN" in note.meaning
    open_questions = [check.asks for check in CHECKS if check.asks in note.meaning]
    assert len(open_questions) == 10
    assert not {check.name for check in CHECKS if check.asks in open_questions} & set(lost.checks)
    assert complaints(tiny_model(max_len=9)) == []
    short = {finding.check: finding for finding in examine(imported(tiny_model(max_len=9))).of("note")}
    assert "9 positions" in short[NOT_MADE].meaning
    assert "Is padding left out?" in short[NOT_MADE].meaning


def test_progress_is_told_and_the_model_stays_as_it_was() -> None:
    loaded = tiny_model()
    before = {name: weight.clone() for name, weight in loaded.model.state_dict().items()}
    asked: list[NextCheck] = []
    examine(imported(loaded), on_check=asked.append)
    assert [step.done for step in asked] == list(range(len(CHECKS)))
    assert asked[0] == NextCheck(0, len(CHECKS), CHECKS[0].asks)
    assert all(torch.equal(weight, before[name]) for name, weight in loaded.model.state_dict().items())


def test_words_for_numbers_and_places() -> None:
    assert [share(part) for part in (0, 0.0001, 0.034, 0.5, 0.9999, 1)] == [
        "0 %", "below 0.1 %", "3.4 %", "50 %", "above 99.9 %", "100 %",
    ]  # fmt: skip
    assert places("abc") == "a, b, c"
    assert places("abcdefg") == "a, b, c, d and 3 more"


def test_without_a_tokenizer_ids_are_typed() -> None:
    words = tiny_model()
    coder = IdCoder(rows=13, special_tokens=SpecialTokens(pad=0, bos=1, eos=2, unk=None))
    loaded = LoadedModel("tiny", words.model, coder, words.target)
    (note,) = examine(imported(loaded), "7 5, 9 4 11 3 8 6").of("problem", "warning", "note")
    assert note.title == "There is no source tokenizer"
    (warning,) = examine(imported(loaded), "the dog").of("problem", "warning")
    assert warning.advice.startswith("Type ids")


def test_finite_weights_whose_output_is_no_number_are_told_apart_from_a_leak() -> None:
    """NaN arises from, for example, a softmax over a fully masked row."""
    (finding,) = causality_findings(float("nan"))
    assert (finding.severity, finding.title) == ("problem", "The output is not a number")
    (leak,) = causality_findings(0.5)
    assert leak.title == "A later target token changes what comes before it"


def test_only_in_a_mixture_of_experts_may_a_later_token_change_the_rounding() -> None:
    """An expert's matrix product has another number of rows if the last token chooses that expert."""
    mixture, plain = (allowed_later_difference(KINDS[kind]().model.config) for kind in ("experts", "alibi"))
    for difference, allowed, severity in [
        (2e-8, mixture, "ok"),
        (2e-8, plain, "problem"),
        (1e-4, mixture, "problem"),
    ]:
        (finding,) = causality_findings(difference, allowed)
        assert finding.severity == severity
