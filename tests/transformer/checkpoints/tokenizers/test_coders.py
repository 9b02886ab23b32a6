"""From a folder's files to a model's coders: frames, special ids, where targets begin and end."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from transformers import BartConfig, MBartConfig, MT5Config

from tests.support.models import tiny_model
from tests.transformer.checkpoints.tokenizers import folders
from tests.transformer.checkpoints.tokenizers.folders import texts_of
from transformer.analysis.doctor.vocabulary import special_findings
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.checkpoints.tokenizers.coders import coders_of
from transformer.errors import CheckpointError
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer
from transformer.text.plain_values import to_plain
from transformer.text.vocabulary import BOS_ID, EOS_ID


@pytest.fixture(autouse=True)
def probed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of each probe, which isn't run: `test_probe` tests it."""
    calls: list[Any] = []
    monkeypatch.setattr("transformer.checkpoints.tokenizers.coders.probe", lambda *given: calls.append(given))
    return calls


def raw(
    texts: dict[str, str | bytes], config: dict[str, Any] | None = None, **generation: Any
) -> RawCheckpoint:
    said = {"config.json": json.dumps(config or {}), "generation_config.json": json.dumps(generation)}
    return RawCheckpoint(Path("model"), "safetensors", {}, {}, {}, {}, texts | said, 0, ())


def config(src: int = 503, tgt: int = 503, *, encoder: int = 2, decoder: int = 3) -> TransformerConfig:
    return TransformerConfig(
        src_vocab_size=src, tgt_vocab_size=tgt, n_encoder_layers=encoder, n_decoder_layers=decoder,
        d_model=6, n_heads=2, d_ff=5, max_len=17,
    )  # fmt: skip


def test_bert_has_one_coder_with_its_frame_and_its_mask(tmp_path: Path, probed: list[Any]) -> None:
    folders.word_piece(tmp_path)
    checkpoint = raw(texts_of(tmp_path))
    source, target, _, ends = coders_of(checkpoint, config(tgt=0, decoder=0), "bert")
    assert probed == [(checkpoint.texts, "bert")], "strangers' files are tried first"
    assert target is source
    assert source.frame_tokens(["x", "y"]) == ("[CLS]", "x", "y", "[SEP]")
    assert source.frame([7, 8]) == (2, 7, 8, 3)
    assert (source.special_tokens.pad, source.special_tokens.unk, source.special_tokens.mask) == (0, 1, 4)
    assert ends == ()
    encoded = source.encode("the [MASK] ☃ 🦝")
    assert encoded.ids[1] == 4
    assert encoded.unknown == [False, False, True, False]
    assert encoded.words == ["the", "[MASK]", "☃", "🦝"]


def test_gpt_2_reads_its_prompt_as_it_is(tmp_path: Path) -> None:
    folders.byte_level(tmp_path, like_roberta=False)
    source, target, _, ends = coders_of(
        raw(texts_of(tmp_path), {"bos_token_id": 0, "eos_token_id": 0}), config(src=0, encoder=0), "gpt2"
    )
    assert target is source
    assert target.frame([7, 8]) == (7, 8)
    assert ends == (0,)
    assert target.special_tokens.unk is None
    assert target.encode("a<|endoftext|>☃").ids[1] == 0
    assert not any(target.encode("a<|endoftext|>☃").unknown)


def test_bart_begins_with_its_end_and_the_token_that_is_forced(tmp_path: Path) -> None:
    folders.byte_level(tmp_path, like_roberta=True)
    said = {"decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1, "bos_token_id": 0}
    source, _, start, ends = coders_of(raw(texts_of(tmp_path), said, forced_bos_token_id=0), config(), "bart")
    assert source.frame([7]) == (0, 7, 2)
    assert (start, ends) == ((2, 0), (2,))


@pytest.mark.parametrize(
    "family, said, begin",
    [
        ("bart", {"bos_token_id": 0}, 2),
        ("bart", {"bos_token_id": 0, "decoder_start_token_id": None}, 0),
        ("bart", {"bos_token_id": 0, "decoder_start_token_id": 3}, 3),
        ("mbart", {"bos_token_id": 0}, 0),
        ("t5", {}, 0),
    ],
)
def test_a_decoder_begins_as_its_family_does_where_no_file_says_it(
    family: str, said: dict[str, Any], begin: int
) -> None:
    """As in the configurations of Hugging Face's library, where null counts as a value."""
    classes = {"bart": BartConfig, "mbart": MBartConfig, "t5": MT5Config}
    theirs = classes[family](**said)
    start = (
        theirs.decoder_start_token_id if theirs.decoder_start_token_id is not None else theirs.bos_token_id
    )
    assert start == begin
    assert coders_of(raw({}, said), config(), family)[2] == (begin,)


def test_marian_begins_with_padding_and_never_writes_it(tmp_path: Path) -> None:
    folders.marian(tmp_path, source_lang="en", target_lang="ita")
    said = {"decoder_start_token_id": 2, "eos_token_id": 0, "bad_words_ids": [[2], [3, 4]]}
    source, target, start, ends = coders_of(raw(texts_of(tmp_path), said), config(), "marian")
    assert (source.language, target.language) == ("en", "ita")
    assert source.frame_tokens(["▁the"]) == ("▁the", "</s>")
    assert (start, ends) == ((2,), (0,))
    assert target.special_tokens.suppressed == (2,)


def test_mbart_knows_its_languages(tmp_path: Path) -> None:
    folders.mbart(tmp_path, src_lang="it_IT", tgt_lang="de_DE")
    source, target, _, _ = coders_of(raw(texts_of(tmp_path)), config(), "mbart")
    assert (source.language, target.language) == ("it", "de")
    assert source.frame_tokens(["x"]) == ("x", "</s>", "it_IT")


@pytest.mark.parametrize(
    "make, family, languages",
    [
        (partial(folders.mbart, fifty=True), "mbart", ("it_IT", "de_DE")),
        (folders.m2m_100, "m2m_100", ("it", "de")),
        (folders.nllb, "m2m_100", ("ita_Latn", "deu_Latn")),
    ],
)
def test_a_target_begins_with_the_language_that_the_settings_name(
    tmp_path: Path, make: Any, family: str, languages: tuple[str, str]
) -> None:
    theirs = make(tmp_path, src_lang=languages[0], tgt_lang=languages[1])
    code = theirs.convert_tokens_to_ids(f"__{languages[1]}__" if make is folders.m2m_100 else languages[1])
    texts, said = texts_of(tmp_path), {"decoder_start_token_id": 2}
    assert coders_of(raw(texts, said), config(), family)[2] == (2, code)
    assert coders_of(raw(texts, said, forced_bos_token_id=7), config(), family)[2] == (2, 7)
    make(tmp_path, src_lang=languages[0])
    assert coders_of(raw(texts_of(tmp_path), said), config(), family)[2] == (2,)


@pytest.mark.parametrize(
    "forced, start",
    [
        ([[1, 7], [2, 9], [3, 8]], (3, 7, 9, 8)),
        ([[2, 9], [1, 7], [4, 5]], (3, 7, 9)),
        ([[1, None], [2, 9]], (3,)),
        ([[1, 10**9], 5, [1], {"1": 2}], (3,)),
    ],
)
def test_whispers_targets_begin_with_all_that_is_forced(forced: Any, start: tuple[int, ...]) -> None:
    said = raw({}, {"decoder_start_token_id": 3}, forced_decoder_ids=forced)
    assert coders_of(said, config(), "whisper")[2] == start


def test_several_ends_and_the_generation_settings_go_first(tmp_path: Path) -> None:
    folders.llama(tmp_path, add_bos_token=True)
    _, target, _, ends = coders_of(
        raw(texts_of(tmp_path), {"eos_token_id": 2}, eos_token_id=[5, 2, 9_999]),
        config(src=0, encoder=0),
        "llama",
    )
    assert ends == (5, 2)
    assert target.special_tokens.eos == 5
    assert target.frame_tokens(["x"]) == ("<s>", "x")


def test_without_settings_the_tokenizers_own_end_ends(tmp_path: Path) -> None:
    folders.t5(tmp_path)
    _, _, start, ends = coders_of(raw(texts_of(tmp_path)), config(), "t5")
    assert (start, ends) == ((0,), (1,))


@pytest.mark.parametrize("family", ["bert", "marian"])
def test_ids_that_the_model_has_no_row_for_are_unknown(tmp_path: Path, family: str) -> None:
    make = folders.word_piece if family == "bert" else folders.marian
    n_tokens = len(make(tmp_path))
    rows = n_tokens // 2
    source, target, _, _ = coders_of(raw(texts_of(tmp_path)), config(rows, rows), family)
    encoded = source.encode("the cat isn't in the garden: perché no?")
    assert len(source.vocabulary) == len(target.vocabulary) == n_tokens
    assert max(encoded.ids) < rows
    assert any(encoded.unknown)
    whole, _, _, _ = coders_of(raw(texts_of(tmp_path)), config(n_tokens, n_tokens), family)
    assert sum(whole.encode("the cat isn't in the garden: perché no?").unknown) < sum(encoded.unknown)


@pytest.mark.parametrize("pad_id, n_ids", [(-1, 4), (0, 6)])
def test_without_a_tokenizer_the_models_padding_counts_if_it_has_any(pad_id: int, n_ids: int) -> None:
    """Begin and end ids of both sides, and padding if there is any: the doctor must not count -1."""
    small = replace(config(37, 41), pad_id=pad_id)
    source, target, start, ends = coders_of(raw({}), small, "torch")
    assert source.special_tokens.pad == target.special_tokens.pad == (None if pad_id < 0 else pad_id)
    loaded = LoadedModel("small", Transformer(small), source, target, "", start, ends)
    (finding,) = special_findings(loaded)
    assert (finding.severity, finding.number) == ("ok", f"{n_ids} ids")


def test_without_a_tokenizer_ids_are_typed() -> None:
    source, target, start, ends = coders_of(raw({}), config(37, 41), "torch")
    encoded = source.encode(" 5, 36;0  37 x -1 ")
    assert encoded.ids == [5, 36, 0, 0, 0, 0]
    assert encoded.unknown == [False, False, False, True, True, True]
    assert encoded.words == ["5", "36", "0", "37", "x", "-1"]
    assert target.describe_ids([40, 1]).tokens == ["40", "1"]
    assert target.decode([1, 7, 40, 2]) == "7 40"
    assert (len(source.vocabulary), len(target.vocabulary)) == (37, 41)
    assert source.frame([5]) == (5,)
    assert source.frame_tokens(["5"]) == ("5",)
    assert (start, ends) == ((BOS_ID,), (EOS_ID,))


def test_our_own_vocabularies() -> None:
    own = tiny_model()
    texts: dict[str, str | bytes] = {
        "vocabulary.json": json.dumps({"source": to_plain(own.source), "target": to_plain(own.target)})
    }
    source, target, start, ends = coders_of(raw(texts), own.model.config, "headlight")
    assert source.encode("I see the cat.").ids == own.source.encode("I see the cat.").ids
    assert target.decode([4, 5]) == own.target.decode([4, 5])
    assert (start, ends) == ((BOS_ID,), (EOS_ID,))
    with pytest.raises(CheckpointError, match="save the model again"):
        coders_of(raw({"vocabulary.json": "{}"}), own.model.config, "headlight")
