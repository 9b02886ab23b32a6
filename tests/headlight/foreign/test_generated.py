"""The attention of the steps of transformers' `generate` is that of one forward pass over what was read."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.typing import NDArray
from transformers import PreTrainedModel

import headlight
from headlight import AttentionWidget
from tests.headlight.widgets import HEADS, QUERIES, layers, shown, tokens, weights
from tests.viz.mounted import unpack_frame

VOCABULARY = 61
PROMPT = 7
SETTINGS = {"vocab_size": VOCABULARY, "bos_token_id": 0, "pad_token_id": 0, "attn_implementation": "eager"}
DECODERS: dict[str, dict[str, Any]] = {
    "GPT2": {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 64, "eos_token_id": 60},
    "Llama": {
        "hidden_size": 32,
        "intermediate_size": 40,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    "Mistral": {
        "hidden_size": 32,
        "intermediate_size": 40,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "sliding_window": 5,
    },
}
ENCODER_DECODERS: dict[str, dict[str, Any]] = {
    "T5": {
        "d_model": 24,
        "d_kv": 8,
        "d_ff": 40,
        "num_layers": 3,
        "num_heads": 3,
        "decoder_start_token_id": 0,
    },
    "Bart": {"d_model": 24, "encoder_layers": 2, "decoder_layers": 3, "decoder_start_token_id": 2},
    "Marian": {"d_model": 24, "encoder_layers": 3, "decoder_layers": 2, "decoder_start_token_id": 0},
}
SMALL = {
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
}
CLASSES = {
    "GPT2": "GPT2LMHeadModel",
    "Llama": "LlamaForCausalLM",
    "Mistral": "MistralForCausalLM",
    "T5": "T5ForConditionalGeneration",
    "Bart": "BartForConditionalGeneration",
    "Marian": "MarianMTModel",
}
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"do_sample": True},
    "without a cache": {"use_cache": False},
    "static cache": {"cache_implementation": "static"},
    "one step": {"max_new_tokens": 1, "min_new_tokens": 1},
    "beams": {"num_beams": 3},
    "sampled beams": {"num_beams": 5, "do_sample": True},
}


@cache
def tiny(name: str) -> PreTrainedModel:
    own = DECODERS.get(name) or ENCODER_DECODERS[name]
    small = SMALL | {"max_position_embeddings": 64} if name in ("Bart", "Marian") else {}
    with torch.random.fork_rng():
        torch.manual_seed(3)
        config = getattr(transformers, f"{name}Config")(**SETTINGS, **small, **own)
        model = getattr(transformers, CLASSES[name])(config).eval()
        for parameter in model.parameters() if name != "T5" else ():  # attention far from uniform
            parameter.data.mul_(3)
    assert isinstance(model, PreTrainedModel)
    return model


def prompt(sentences: int = 1) -> torch.Tensor:
    return torch.randint(3, VOCABULARY - 1, (sentences, PROMPT), generator=torch.Generator().manual_seed(5))


def generate(name: str, ids: torch.Tensor, **options: Any) -> Any:
    defaults = {"max_new_tokens": 6, "min_new_tokens": 4, "do_sample": False}
    with torch.random.fork_rng():
        torch.manual_seed(11)
        return tiny(name).generate(  # type: ignore[operator]
            ids, **defaults | options, output_attentions=True, return_dict_in_generate=True
        )


def forward(name: str, output: Any) -> Any:
    """One forward pass over the first sequence, including the token that was never read."""
    ids = output.sequences[:1]
    with torch.no_grad():
        if name in DECODERS:
            return tiny(name)(ids, output_attentions=True, use_cache=False)
        return tiny(name)(prompt(), decoder_input_ids=ids, output_attentions=True, use_cache=False)


def named(ids: torch.Tensor) -> list[str]:
    return [f"t{token}" for token in ids.tolist()]


def assert_shows(widget: AttentionWidget, name: str, expected: Any, n_queries: int) -> None:
    values: NDArray[np.float32] = shown(widget, name)
    assert values.shape[2] == n_queries
    reference = torch.cat(expected)[:, :, : values.shape[2], : values.shape[3]]
    np.testing.assert_allclose(values, reference, atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DECODERS)
def test_steps_of_a_decoder_are_joined(name: str, way: str) -> None:
    output = generate(name, prompt(), **WAYS[way])
    written = named(output.sequences[0])
    expected = forward(name, output).attentions
    assert_shows(headlight.show_attention(output, written), "decoder", expected, len(written) - 1)
    if "beams" not in way:
        for given in (written, written[:-1]):
            widget = headlight.show_attention(output.attentions, given)
            assert_shows(widget, "decoder", expected, len(written) - 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ENCODER_DECODERS)
def test_steps_of_a_decoder_with_an_encoder_are_joined(name: str, way: str) -> None:
    output = generate(name, prompt(), **WAYS[way])
    source, written = named(prompt()[0]), named(output.sequences[0])
    expected = forward(name, output)
    widgets = [headlight.show_attention(output, encoder_tokens=source, decoder_tokens=written)]
    if "beams" not in way:
        widgets.append(
            headlight.show_attention(
                encoder_attention=output.encoder_attentions,
                decoder_attention=output.decoder_attentions,
                cross_attention=output.cross_attentions,
                encoder_tokens=source,
                decoder_tokens=written[:-1],
            )
        )
        alone = headlight.show_attention(output.cross_attentions, written, source)
        assert_shows(alone, "cross", expected.cross_attentions, len(written) - 1)
    for widget in widgets:
        assert_shows(widget, "encoder", expected.encoder_attentions, PROMPT)
        assert_shows(widget, "decoder", expected.decoder_attentions, len(written) - 1)
        assert_shows(widget, "cross", expected.cross_attentions, len(written) - 1)


def test_one_step_is_the_row_of_the_last_token() -> None:
    output = generate("GPT2", prompt())
    read = named(output.sequences[0])[:-1]
    widget = headlight.show_attention(output.attentions[-1], read)
    np.testing.assert_array_equal(shown(widget, "cross"), torch.cat(output.attentions[-1]))
    assert unpack_frame(widget.frame)[0]["sides"]["decoder"]["tokens"] == read[-1:]


def test_several_sequences_are_refused_with_what_to_do() -> None:
    batch = generate("GPT2", prompt(2))
    with pytest.raises(
        ValueError, match=r"Each step of attention has 2 sequences.*model\(output\.sequences\[:1\]"
    ):
        headlight.show_attention(batch.attentions, named(batch.sequences[0]))
    beams = generate("GPT2", prompt(), num_beams=3, num_return_sequences=2)
    with pytest.raises(
        ValueError, match=r"has 3 sequences\. If they are beams of one text, pass the whole output"
    ):
        headlight.show_attention(beams.attentions, named(beams.sequences[0]))
    with pytest.raises(ValueError, match=r"The output has 2 sequences: run the model on one of them"):
        headlight.show_attention(beams, named(beams.sequences[0]))
    translated = generate("Marian", prompt(2))
    with pytest.raises(
        ValueError, match=r"2 sequences: .* model\(input_ids\[:1\], decoder_input_ids=output\.seq"
    ):
        headlight.show_attention(translated, encoder_tokens=tokens(PROMPT), decoder_tokens=tokens(6))
    once = forward("GPT2", beams)
    assert_shows(
        headlight.show_attention(once, named(beams.sequences[0])), "decoder", once.attentions, PROMPT + 6
    )


REFUSED: dict[str, tuple[Any, str]] = {
    "steps without weights": (((), ()), "There is no attention"),
    "a layer of None": (
        [(*layers(1), None), (*layers(1, 1, QUERIES + 1), None)],
        r"Layer 1 of attention is None.*layer in step if layer is not None\] for step in attention\]",
    ),
    "layers of heads": (
        [list(weights(HEADS, QUERIES, QUERIES))] * 2,
        r"has the shape \(5, 5\), not \(1, heads",
    ),
    "two streams": ([layers(), layers()], r"not of the steps of generate\(\).* it has \[5, 5\] queries"),
    "layers missing": ([layers(2), layers(1)], "different numbers of layers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_of_steps_is_refused(case: str) -> None:
    given, expected = REFUSED[case]
    with pytest.raises(ValueError, match=expected):
        headlight.show_attention(given, tokens(QUERIES))


def test_a_step_of_a_decoder_by_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"decoder_attention are 1 and 5 tokens, as in one step of generate"):
        headlight.show_attention(decoder_attention=layers(2, 1, 5), decoder_tokens=tokens(5))


@pytest.mark.parametrize("n_global", [0, 1, 2])
@pytest.mark.parametrize("length", [3, 5, 6, 13])
def test_windows_of_longformer_are_refused(length: int, n_global: int) -> None:
    config = transformers.LongformerConfig(
        vocab_size=VOCABULARY,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        attention_window=4,
        max_position_embeddings=64,
    )
    ids = prompt(1).repeat(1, 2)[:, :length]
    is_global = (torch.arange(length) < n_global).long()[None]
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(3)
        model = transformers.LongformerModel(config).eval()  # type: ignore[no-untyped-call]
        output = model(ids, global_attention_mask=is_global, output_attentions=True)
    assert output.attentions[0].shape[3] == n_global + 5
    expected = (
        rf"a window around each query.*from {n_global} on, column c is .* query \+ c - {n_global + 2}\."
    )
    for given in (output, output.attentions):
        with pytest.raises(ValueError, match=expected):
            headlight.show_attention(given, tokens(length))
