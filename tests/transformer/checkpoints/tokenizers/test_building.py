"""Files with the same names are read as the model's own tokenizer does, or refused if that is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import Qwen2Tokenizer
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

from tests.transformer.checkpoints.tokenizers import folders
from tests.transformer.checkpoints.tokenizers.folders import NASTY, sentence_pieces, texts_of
from transformer.checkpoints.reading.raw import Texts
from transformer.checkpoints.tokenizers.building import USUAL, build
from transformer.checkpoints.tokenizers.library import LibraryTokenizer
from transformer.checkpoints.tokenizers.probe import probe
from transformer.errors import CheckpointError

Said = dict[str, Any]


def frame(texts: Texts, family: str) -> list[str]:
    built = build(texts, family)
    assert isinstance(built, LibraryTokenizer)
    tokens: list[str] = built.tokenizer.encode("").tokens
    return tokens


@pytest.fixture(scope="module")
def pieces() -> bytes:
    return sentence_pieces("unigram")


FIFTY, FAST = "MBart50Tokenizer", "PreTrainedTokenizerFast"
LIKE_ROBERTA, LIKE_MBART, LIKE_FIFTY = ["<s>", "</s>"], ["</s>", "en_XX"], ["en_XX", "</s>"]


@pytest.mark.parametrize(
    "config, settings, family, tokens",
    [
        ({"model_type": "xlm-roberta"}, {}, "roberta", LIKE_ROBERTA),
        ({"model_type": "camembert"}, {}, "roberta", LIKE_ROBERTA),
        ({"model_type": "roberta"}, {"tokenizer_class": "XLMRobertaTokenizer"}, "roberta", LIKE_ROBERTA),
        ({"model_type": "camembert"}, {"tokenizer_class": FAST}, "roberta", LIKE_ROBERTA),
        ({"model_type": "mbart"}, {}, "mbart", LIKE_MBART),
        ({}, {}, "mbart", LIKE_MBART),
        ({"tokenizer_class": FIFTY}, {}, "mbart", LIKE_FIFTY),
        ({"tokenizer_class": "MBartTokenizer"}, {"tokenizer_class": f"{FIFTY}Fast"}, "mbart", LIKE_FIFTY),
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
        ({"tokenizer_class": "BarthezTokenizer"}, "mbart", "is 'BarthezTokenizer', which"),
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


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Texts]:
    """A folder with only vocab.json and merges.txt, and its content."""
    folder = tmp_path_factory.mktemp("pairs")
    folders.byte_level(folder, like_roberta=False)
    return folder, texts_of(folder)


@pytest.mark.parametrize("model_type", ["qwen2", "qwen3"])
def test_byte_pairs_of_a_qwen_are_cut_as_qwens(pairs: tuple[Path, Texts], model_type: str) -> None:
    folder, texts = pairs
    theirs = Qwen2Tokenizer.from_pretrained(folder)
    built = build({**texts, "config.json": json.dumps({"model_type": model_type})}, "llama")
    assert isinstance(built, LibraryTokenizer)
    for text in NASTY:
        assert built.tokenizer.encode(text).ids == theirs(text)["input_ids"], text


@pytest.mark.parametrize(
    "said, family, name",
    [
        ({}, "llama", "LlamaTokenizer"),
        ({"tokenizer_class": FAST}, "llama", "LlamaTokenizer"),
        ({"tokenizer_class": "HerbertTokenizer"}, "bert", "HerbertTokenizer"),
    ],
)
def test_byte_pairs_of_another_tokenizer_are_refused(
    pairs: tuple[Path, Texts], said: Said, family: str, name: str
) -> None:
    """Llama 3's pre-tokenizer splits text differently, and HerBERT's pairs are not even of bytes."""
    with pytest.raises(CheckpointError, match=rf"is '{name}'.*vocab\.json and merges\.txt alone"):
        build({**pairs[1], "tokenizer_config.json": json.dumps(said)}, family)


@pytest.mark.parametrize(
    "said, tokens", [("GPT2TokenizerFast", []), ("LongformerTokenizer", ["<s>", "</s>"])]
)
def test_byte_pairs_of_a_model_like_llama_are_whose_its_settings_say(
    pairs: tuple[Path, Texts], said: str, tokens: list[str]
) -> None:
    texts: Texts = {**pairs[1], "tokenizer_config.json": json.dumps({"tokenizer_class": said})}
    assert frame(texts, "llama") == tokens


def test_other_tokenizers_with_files_of_t5s_or_berts_names_are_refused(pieces: bytes) -> None:
    said: Texts = {"tokenizer_config.json": '{"tokenizer_class": "AlbertTokenizer"}'}
    with pytest.raises(CheckpointError, match=r"'AlbertTokenizer'.*spiece\.model alone: put"):
        build({"spiece.model": pieces, **said}, "bert")
    said = {"config.json": '{"model_type": "bert", "tokenizer_class": "BertJapaneseTokenizer"}'}
    with pytest.raises(CheckpointError, match=r"by a dictionary .* remove vocab\.txt"):
        build({"vocab.txt": "[UNK]\n猫\n", **said}, "bert")


def test_files_that_the_tokenizer_does_not_need_may_lie_there_too(
    pieces: bytes, pairs: tuple[Path, Texts]
) -> None:
    said: Texts = {"config.json": '{"model_type": "xlm-roberta"}', "sentencepiece.bpe.model": pieces}
    assert frame({**pairs[1], **said}, "roberta") == LIKE_ROBERTA


def test_what_is_tried_first_is_what_is_built(pieces: bytes) -> None:
    """The probe gets the configuration, too: without it, it would refuse."""
    probe({"sentencepiece.bpe.model": pieces, "config.json": '{"model_type": "xlm-roberta"}'}, "roberta")


def test_another_tokenizer_of_an_mbart_has_no_language_in_its_frame(tmp_path: Path) -> None:
    """BARThez has mBART's architecture; its frame is the one in its tokenizer.json."""
    folders.xlm_roberta(tmp_path / "a").save_pretrained(tmp_path / "b")
    said: Texts = {"tokenizer_config.json": '{"tokenizer_class": "BarthezTokenizer"}'}
    assert frame({**texts_of(tmp_path / "b"), **said}, "mbart") == LIKE_ROBERTA


def test_a_kind_of_model_has_the_tokenizer_that_hugging_face_gives_it() -> None:
    theirs = {name: cls for name, cls in TOKENIZER_MAPPING_NAMES.items() if name in USUAL and cls}
    assert theirs.pop("mistral") == "TokenizersBackend"  # for any files
    assert theirs == {name: USUAL[name] for name in theirs}
    assert len(theirs) > 10
