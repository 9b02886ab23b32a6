"""Every kind of tokenizer gives Hugging Face's ids on nasty text, and its text for any ids."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from tests.transformer.checkpoints.tokenizers import folders
from tests.transformer.checkpoints.tokenizers.folders import NASTY, texts_of
from transformer.checkpoints.tokenizers.building import build
from transformer.checkpoints.tokenizers.library import LibraryCoder, LibraryTokenizer
from transformer.checkpoints.tokenizers.marian import MarianCoder
from transformer.checkpoints.tokenizers.probe import probe
from transformer.text.coder import Coder, SpecialTokens

Make = Callable[[Path], PreTrainedTokenizerBase]

NO_SPECIALS = SpecialTokens(pad=None, bos=None, eos=None, unk=None)
ENOUGH = 10_000

KINDS: dict[str, tuple[Make, str]] = {
    "BERT": (folders.word_piece, "bert"),
    "BERT cased": (partial(folders.word_piece, do_lower_case=False), "bert"),
    "BERT with accents": (
        partial(folders.word_piece, strip_accents=False, tokenize_chinese_chars=False),
        "distilbert",
    ),
    "GPT-2": (partial(folders.byte_level, like_roberta=False), "gpt2"),
    "GPT-2 with a space and <bos>": (
        partial(folders.byte_level, like_roberta=False, add_prefix_space=True, add_bos_token=True),
        "gpt2",
    ),
    "RoBERTa": (partial(folders.byte_level, like_roberta=True), "roberta"),
    "BART with a space": (partial(folders.byte_level, like_roberta=True, add_prefix_space=True), "bart"),
    "Qwen 2": (folders.qwen2, "llama"),
    "Qwen 2 with a space": (partial(folders.qwen2, add_prefix_space=True), "llama"),
    "Qwen 2 of few settings": (partial(folders.qwen2, added_tokens_decoder={}), "llama"),
    "T5": (folders.t5, "t5"),
    "T5 with fewer sentinels": (partial(folders.t5, extra_ids=7), "t5"),
    "Pegasus": (folders.pegasus, "pegasus"),
    "mBART": (partial(folders.mbart, src_lang="it_IT", tgt_lang="de_DE"), "mbart"),
    "mBART-50": (partial(folders.mbart, fifty=True, src_lang="fr_XX"), "mbart"),
    "XLM-R": (folders.xlm_roberta, "roberta"),
    "XLM-R without a space": (partial(folders.xlm_roberta, add_prefix_space=False), "roberta"),
    "CamemBERT": (folders.camembert, "roberta"),
    "Llama": (partial(folders.llama, add_bos_token=True), "llama"),
    "Llama, legacy": (partial(folders.llama, legacy=True), "llama"),
    "Llama without a space": (partial(folders.llama, add_prefix_space=False, add_eos_token=True), "llama"),
    "M2M-100": (partial(folders.m2m_100, src_lang="it", tgt_lang="it"), "m2m_100"),
    "NLLB": (partial(folders.nllb, src_lang="ita_Latn", tgt_lang="deu_Latn"), "m2m_100"),
    "NLLB, legacy": (partial(folders.nllb, legacy_behaviour=True), "m2m_100"),
    "Marian": (partial(folders.marian, source_lang="en", target_lang="it"), "marian"),
    "Marian, two vocabularies": (partial(folders.marian, separate_vocabs=True), "marian"),
}
ADDED: dict[str, Any] = {
    "added_tokens_decoder": {
        "4": {"content": "[MASK]", "lstrip": True, "special": True},
        "288": {"content": "newword", "normalized": True},
        "289": {"content": "<sp>", "rstrip": True, "special": True, "single_word": True},
    },
    "mask_token": "[MASK]",
}
KINDS |= {
    "BERT with added tokens": (partial(folders.word_piece, **ADDED), "bert"),
    "GPT-2 with added tokens": (
        partial(
            folders.byte_level,
            like_roberta=False,
            pad_token="<pad>",
            additional_special_tokens=["<sp>", "newword"],
        ),
        "gpt2",
    ),
    "Llama with added tokens": (
        partial(folders.llama, pad_token="<pad>", extra_special_tokens=["[MASK]", "<sp>"]),
        "llama",
    ),
    "BERT of older files": (partial(folders.older, folders.word_piece, "[MASK]"), "bert"),
    "RoBERTa of older files": (
        partial(folders.older, partial(folders.byte_level, like_roberta=True), "<mask>"),
        "roberta",
    ),
    "XLM-R with added tokens": (
        partial(folders.xlm_roberta, mask_token="[MASK]", additional_special_tokens=["<sp>"]),
        "roberta",
    ),
    "CamemBERT of older files": (partial(folders.older, folders.camembert, "<mask>"), "roberta"),
    "T5 of older files": (partial(folders.older, folders.t5, "<mask>"), "t5"),
}
WORDS_ADDED = [
    "<|im_start|>me\n\n1234 IT'S \n !?\n<|im_end|> \n<|endoftext|> <|im_end|>x",
    "a newword, NEWWORD newwords <sp> x<sp>y  <sp>  [MASK]  ",
    "[MASK]newword <SP>newword<sp>",
]


@dataclass(frozen=True)
class Side:
    """A Hugging Face tokenizer, and our coders of the same files for reading and for writing."""

    theirs: PreTrainedTokenizerBase
    ours: Coder
    writer: Coder

    def framed(self, text: str) -> list[int]:
        return list(self.ours.frame(self.ours.encode(text).ids))


ONE_OF_EACH = ("BERT", "GPT-2", "Qwen 2", "T5", "XLM-R", "mBART", "Llama", "NLLB", "Marian")
"""Kinds whose saved tokenizer.json is always tested, one per builder; the others only in a full run."""


@pytest.fixture(scope="session", params=sorted(KINDS))
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Side, str]:
    make, family = KINDS[request.param]
    folder = tmp_path_factory.mktemp("tokenizer") / "folder"
    theirs = make(folder)
    probe(texts_of(folder), family)
    return folder, Side(theirs, *coders(folder, family)), family


@pytest.fixture(scope="session")
def side(kind: tuple[Path, Side, str]) -> Side:
    return kind[1]


def coders(folder: Path, family: str) -> tuple[Coder, Coder]:
    built = build(texts_of(folder), family)
    if isinstance(built, LibraryTokenizer):
        ours = LibraryCoder(built, rows=ENOUGH, special_tokens=NO_SPECIALS, language=None)
        return ours, ours
    assert built is not None
    source, target = (
        MarianCoder(side, rows=ENOUGH, special_tokens=NO_SPECIALS, language=None) for side in built
    )
    return source, target


def assert_same_ids_and_text(side: Side) -> None:
    for text in [*NASTY, *WORDS_ADDED]:
        assert side.framed(text) == side.theirs(text)["input_ids"], text
        ids = list(side.writer.frame(side.writer.encode(text).ids))
        assert side.writer.decode(ids) == side.theirs.decode(ids, skip_special_tokens=True), text


def test_ids_and_text_are_the_same(side: Side) -> None:
    """Ids of nasty texts, and the text of any ids."""
    assert_same_ids_and_text(side)
    drawn = random.Random(7)
    size = len(side.writer.vocabulary)
    for n_ids in range(40):
        ids = [drawn.randrange(size) for _ in range(n_ids)]
        assert side.writer.decode(ids) == side.theirs.decode(ids, skip_special_tokens=True)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text() | st.text(alphabet="ab '’▁<>/s[MASK]é猫🦝\u0301\n\t  ğ"))
def test_ids_of_any_text_are_the_same(side: Side, text: str) -> None:
    assert side.framed(text) == side.theirs(text)["input_ids"]


@pytest.mark.parametrize("separate", [False, True])
def test_marians_targets_are_cut_by_their_own_pieces(tmp_path: Path, separate: bool) -> None:
    theirs = folders.marian(tmp_path, separate_vocabs=separate)
    _, target = coders(tmp_path, "marian")
    for text in NASTY:
        assert list(target.frame(target.encode(text).ids)) == theirs(text_target=text)["input_ids"], text


def test_tokens_have_ids_words_and_legible_names(side: Side) -> None:
    assert len(side.ours.vocabulary) == len(side.theirs)
    assert side.ours.encode("a \ud800").ids == side.ours.encode("a \ufffd").ids, "a lone surrogate"
    names = [side.ours.token(index) for index in range(len(side.theirs))]
    assert all(name.isprintable() for name in names)
    assert not any("Ġ" in name for name in names)
    assert side.ours.token(ENOUGH) == f"#{ENOUGH}"
    for text in NASTY:
        encoded = side.ours.encode(text)
        for described in (encoded, side.ours.describe_ids(encoded.ids)):
            assert described.ids == encoded.ids
            assert described.tokens == encoded.tokens
            assert len(described.ids) == len(described.word_of) == len(described.unknown)
            assert described.word_of == sorted(described.word_of)
            assert set(described.word_of) == set(range(len(described.words)))


@pytest.mark.parametrize(
    "kind",
    [pytest.param(name, marks=[] if name in ONE_OF_EACH else pytest.mark.full) for name in sorted(KINDS)],
    indirect=True,
)
def test_a_saved_tokenizer_json_is_the_same(kind: tuple[Path, Side, str], tmp_path: Path) -> None:
    _, side, family = kind
    side.theirs.save_pretrained(tmp_path)
    probe(texts_of(tmp_path), family)
    theirs = side.theirs
    if (tmp_path / "tokenizer.json").exists():
        theirs = PreTrainedTokenizerFast.from_pretrained(tmp_path)  # from the file as it is
    assert_same_ids_and_text(Side(theirs, *coders(tmp_path, family)))
