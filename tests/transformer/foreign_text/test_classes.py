"""Files of one name are read as the model's own tokenizer does, and not at all where that isn't known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

from tests.transformer.foreign_text import folders
from tests.transformer.foreign_text.folders import sentence_pieces, texts_of
from transformer.checkpoints._files import CheckpointError
from transformer.foreign_text.built import Built
from transformer.foreign_text.classes import USUAL
from transformer.foreign_text.files import build
from transformer.foreign_text.probe import probe
from transformer.foreign_text.settings import Texts

Said = dict[str, Any]


def frame(texts: Texts, family: str) -> list[str]:
    built = build(texts, family)
    assert isinstance(built, Built)
    tokens: list[str] = built.tokenizer.encode("").tokens
    return tokens


@pytest.fixture(scope="module")
def pieces() -> bytes:
    return sentence_pieces("unigram")


FIFTY = "MBart50Tokenizer"
LIKE_ROBERTA = ["<s>", "</s>"]
LIKE_MBART = ["</s>", "en_XX"]


@pytest.mark.parametrize(
    "config, settings, family, tokens",
    [
        ({"model_type": "xlm-roberta"}, {}, "roberta", LIKE_ROBERTA),
        ({"model_type": "camembert"}, {}, "roberta", LIKE_ROBERTA),
        ({"model_type": "roberta"}, {"tokenizer_class": "XLMRobertaTokenizer"}, "roberta", LIKE_ROBERTA),
        (
            {"model_type": "camembert"},
            {"tokenizer_class": "PreTrainedTokenizerFast"},
            "roberta",
            LIKE_ROBERTA,
        ),
        ({"model_type": "mbart"}, {}, "mbart", LIKE_MBART),
        ({}, {}, "mbart", LIKE_MBART),
        ({"tokenizer_class": FIFTY}, {}, "mbart", ["en_XX", "</s>"]),
        (
            {"tokenizer_class": "MBartTokenizer"},
            {"tokenizer_class": f"{FIFTY}Fast"},
            "mbart",
            ["en_XX", "</s>"],
        ),
    ],
)
def test_the_settings_then_the_configuration_tell_the_tokenizer(
    pieces: bytes, config: Said, settings: Said, family: str, tokens: list[str]
) -> None:
    texts: Texts = {
        "sentencepiece.bpe.model": pieces,
        "config.json": json.dumps(config),
        "tokenizer_config.json": json.dumps(settings),
    }
    assert frame(texts, family) == tokens


@pytest.mark.parametrize(
    "said, family, sentence",
    [
        (
            {"tokenizer_class": "BarthezTokenizer"},
            "mbart",
            "is 'BarthezTokenizer', which",
        ),
        ({}, "roberta", "is 'RobertaTokenizer', which"),
        ({"tokenizer_class": 7}, "annotated", "The model's tokenizer isn't named by any file"),
    ],
)
def test_pieces_of_another_tokenizer_are_refused(
    pieces: bytes, said: Said, family: str, sentence: str
) -> None:
    texts: Texts = {"sentencepiece.bpe.model": pieces, "tokenizer_config.json": json.dumps(said)}
    with pytest.raises(CheckpointError, match=rf"{sentence}.*: put its tokenizer\.json into"):
        build(texts, family)


def test_what_is_tried_first_is_what_is_built(pieces: bytes) -> None:
    """The trying process hears of the configuration, too: without it, it would refuse."""
    probe({"sentencepiece.bpe.model": pieces, "config.json": '{"model_type": "xlm-roberta"}'}, "roberta")


def test_another_tokenizer_of_an_mbart_has_no_language_in_its_frame(tmp_path: Path) -> None:
    """BARThez is an mBART; the frame is the one in its tokenizer.json."""
    folders.xlm_roberta(tmp_path / "a").save_pretrained(tmp_path / "b")
    said: Texts = {"tokenizer_config.json": '{"tokenizer_class": "BarthezTokenizer"}'}
    assert frame({**texts_of(tmp_path / "b"), **said}, "mbart") == LIKE_ROBERTA


def test_a_kind_of_model_has_the_tokenizer_that_hugging_face_gives_it() -> None:
    theirs = {name: cls for name, cls in TOKENIZER_MAPPING_NAMES.items() if name in USUAL and cls}
    assert theirs.pop("mistral") == "TokenizersBackend"  # whatever the files are
    assert theirs == {name: USUAL[name] for name in theirs}
    assert len(theirs) > 10
