"""Hostile and damaged tokenizer files are refused in words, and what they crash is not this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.transformer.checkpoints.tokenizers import folders
from transformer.checkpoints.tokenizers.probe import SAMPLES, ProbeLimits, probe
from transformer.errors import CheckpointError

Plain = dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    """A tokenizer.json that is read."""
    folder = tmp_path_factory.mktemp("saved")
    folders.word_piece(folder / "a").save_pretrained(folder / "b")
    plain: Plain = json.loads((folder / "b" / "tokenizer.json").read_text(encoding="utf-8"))
    return plain


def refusal(texts: dict[str, str | bytes], family: str = "bert", limits: ProbeLimits | None = None) -> str:
    with pytest.raises(CheckpointError) as refused:
        probe(texts, family, limits)
    message = str(refused.value)
    assert message.endswith(".")
    assert "Traceback" not in message
    return message


def laughs(plain: Plain) -> None:
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    plain["normalizer"] = {"type": "Sequence", "normalizers": [step] * 40}


def long_charsmap(plain: Plain) -> None:
    plain["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}


def slow_pattern(plain: Plain) -> None:
    pattern = {"Regex": "(?:a|aa|a+)+b"}
    plain["pre_tokenizer"] = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def many_steps(plain: Plain) -> None:
    plain["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 65}


def long_prefix(plain: Plain) -> None:
    plain["normalizer"] = {"type": "Prepend", "prepend": "x" * 3_000}


def long_pattern(plain: Plain) -> None:
    pattern = {"Regex": "a" * 3_000}
    plain["pre_tokenizer"] = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def by_chance(plain: Plain) -> None:
    plain["model"] = {"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []}


def no_unknown(plain: Plain) -> None:
    plain["model"]["unk_token"] = "[NONE]"


def no_unknown_id(plain: Plain) -> None:
    """All of the probe's own texts would be known."""
    pieces = sorted({character for sample in SAMPLES for character in sample} | {"\u2581"})
    plain["model"] = {"type": "Unigram", "vocab": [[piece, -1.0] for piece in pieces]}
    plain["normalizer"] = plain["pre_tokenizer"] = plain["post_processor"] = plain["decoder"] = None


def long_of_short(plain: Plain) -> None:
    """Each character by itself: in one long text, a prefix would be a small part."""
    plain["normalizer"] = {"type": "Prepend", "prepend": "x" * 30}


def no_model(plain: Plain) -> None:
    del plain["model"]


def other_model(plain: Plain) -> None:
    plain["model"]["type"] = "Nonesuch"


def unknown_step(plain: Plain) -> None:
    plain["pre_tokenizer"] = {"type": "Nonesuch"}


def many_added(plain: Plain) -> None:
    plain["added_tokens"] = [{"id": n, "content": f"<{n}>"} for n in range(100_001)]


def wrong_ids(plain: Plain) -> None:
    plain["model"]["vocab"] = {"[UNK]": -1}


@pytest.mark.parametrize(
    "spoil, why",
    [
        (laughs, "longer"),
        (many_steps, "steps"),
        (long_prefix, "prepends"),
        (long_pattern, "pattern"),
        (by_chance, "dropout"),
        (no_unknown, "unknown words"),
        (no_unknown_id, "unk_id"),
        (long_of_short, "makes long texts"),
        (no_model, "no model"),
        (other_model, "no model"),
        (unknown_step, "can't be read"),
        (many_added, "tokens"),
        (wrong_ids, "can't be read"),
    ],
)
def test_a_spoilt_tokenizer_json_is_refused(saved: Plain, spoil: Callable[[Plain], None], why: str) -> None:
    plain = json.loads(json.dumps(saved))
    probe({"tokenizer.json": json.dumps(plain)}, "bert")
    spoil(plain)
    assert why in refusal({"tokenizer.json": json.dumps(plain)})


@pytest.mark.parametrize(
    "texts, why",
    [
        ({"tokenizer.json": ""}, "no valid JSON"),
        ({"tokenizer.json": "[]"}, "no JSON object"),
        ({"tokenizer.json": "[" * 100_000}, "no valid JSON"),
        ({"tokenizer.json": "<!doctype html>"}, "no valid JSON"),
        ({"tokenizer.json": b"\xff\xfe"}, "no valid JSON"),
        ({"vocab.txt": "a\nb\n"}, "no '[UNK]'"),
        ({"vocab.txt": b"\xff[UNK]"}, "no text"),
        ({"vocab.txt": "[UNK]\n", "tokenizer_config.json": '{"do_lower_case": "yes"}'}, "true or false"),
        ({"vocab.txt": "[UNK]\n", "tokenizer_config.json": '{"pad_token": {"x": 1}}'}, "no token"),
        ({"vocab.txt": "[UNK]\n", "tokenizer_config.json": '{"added_tokens_decoder": [1]}'}, "no object"),
        ({"vocab.txt": "[UNK]\n", "added_tokens.json": '{"x": -3}'}, "the id"),
        ({"vocab.txt": "[UNK]\n", "added_tokens.json": '{"x": 2000000}'}, "below 2,000,000"),
        (
            {
                "vocab.txt": "[UNK]\n",
                "tokenizer_config.json": f'{{"added_tokens_decoder": {{"{"9" * 30}": "x"}}}}',
            },
            "below 2,000,000",
        ),
        ({"vocab.json": '{"a": 0, "b": "x"}', "merges.txt": ""}, "whole number"),
        ({"vocab.json": '{"a": 0, "b": 1e9}', "merges.txt": ""}, "whole number"),
        ({"vocab.json": '{"a": 0, "b": 1}', "merges.txt": "a b\n"}, "lacks that"),
        ({"vocab.json": '{"a": 0, "b": 1}', "merges.txt": "a b c\n"}, "two pieces"),
        ({"spiece.model": b"\x0a\x80"}, "spiece.model is no sentencepiece model"),
        (
            {
                "sentencepiece.bpe.model": b"",
                "tokenizer_config.json": '{"tokenizer_class": "MBartTokenizer"}',
            },
            "sentencepiece.bpe.model is no",
        ),
        ({"tokenizer.model": "text"}, "tokenizer.model is no"),
        ({"source.spm": b"x", "target.spm": b"x"}, "no vocab.json"),
        ({"source.spm": b"x", "target.spm": b"x", "vocab.json": '{"<unk>": 0}'}, "source.spm is no"),
    ],
)
def test_damaged_files_are_refused(texts: dict[str, str | bytes], why: str) -> None:
    assert why in refusal(texts, family="of its own")


def test_a_model_of_the_other_algorithm_is_refused() -> None:
    model = folders.sentence_pieces("bpe", corpus=folders.CORPUS[:2], size=60)
    assert "another kind" in refusal({"spiece.model": model}, "t5")


def test_marians_vocabulary_must_know_the_unknown() -> None:
    model = folders.sentence_pieces("unigram", corpus=folders.CORPUS[:2], size=60)
    texts: dict[str, str | bytes] = {"source.spm": model, "target.spm": model, "vocab.json": '{"a": 0}'}
    assert "'<unk>'" in refusal(texts, "marian")


def test_a_crash_is_told_in_words(saved: Plain) -> None:
    plain = json.loads(json.dumps(saved))
    long_charsmap(plain)
    assert refusal({"tokenizer.json": json.dumps(plain)})


def test_too_little_memory_is_told_in_words() -> None:
    vocabulary = "[UNK]\n" + "".join(f"{number}\n" for number in range(200_000))
    probe({"vocab.txt": vocabulary}, "bert")
    assert "memory" in refusal({"vocab.txt": vocabulary}, limits=ProbeLimits(memory_bytes=2**20))


def test_a_pattern_that_takes_for_ever_is_refused(saved: Plain) -> None:
    plain = json.loads(json.dumps(saved))
    slow_pattern(plain)
    assert refusal({"tokenizer.json": json.dumps(plain)}, limits=ProbeLimits(seconds=5.0))


def test_a_pattern_that_fails_on_runs_of_its_own_letters_is_refused(saved: Plain) -> None:
    pattern = {"Regex": "(q+)+$"}
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    assert "crash" in refusal({"tokenizer.json": json.dumps(saved | {"pre_tokenizer": split})})


def test_a_folder_without_a_tokenizer_is_fine() -> None:
    probe({"config.json": "{}"}, "bert")
