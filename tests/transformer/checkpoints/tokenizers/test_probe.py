"""Hostile and damaged tokenizer files are refused with a message, and crash no process but the probe."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.transformer.checkpoints.tokenizers import folders
from transformer.checkpoints.tokenizers.building import build
from transformer.checkpoints.tokenizers.probe import SAMPLES, ProbeLimits, probe
from transformer.errors import CheckpointError

Plain = dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    """A valid tokenizer.json."""
    folder = tmp_path_factory.mktemp("saved")
    folders.word_piece(folder / "a").save_pretrained(folder / "b")
    plain: Plain = json.loads((folder / "b" / "tokenizer.json").read_text(encoding="utf-8"))
    probe({"tokenizer.json": json.dumps(plain)}, "bert")
    return plain


def refusal(texts: dict[str, str | bytes], family: str = "bert", limits: ProbeLimits | None = None) -> str:
    with pytest.raises(CheckpointError) as refused:
        probe(texts, family, limits)
    message = str(refused.value)
    assert message.endswith(".")
    assert "Traceback" not in message
    return message


def split(pattern: str) -> Plain:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def sequence(step: Plain, times: int) -> Plain:
    return {"type": "Sequence", "normalizers": [step] * times}


def prepend(text: str) -> Plain:
    return {"type": "Prepend", "prepend": text}


DOUBLED = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
KNOWN = sorted({character for sample in SAMPLES for character in sample} | {"\u2581"})
"""All characters of the probe's own texts."""
SPOILT: dict[str, tuple[Callable[[Plain], object], str]] = {
    "laughs": (lambda plain: plain.update(normalizer=sequence(DOUBLED, 40)), "longer"),
    "many steps": (lambda plain: plain.update(normalizer=sequence({"type": "NFC"}, 65)), "steps"),
    "a long prefix": (lambda plain: plain.update(normalizer=prepend("x" * 3_000)), "prepends"),
    "a long pattern": (lambda plain: plain.update(pre_tokenizer=split("a" * 3_000)), "pattern"),
    "a pattern for runs of its own letters": (
        lambda plain: plain.update(pre_tokenizer=split("(q+)+$")), "crash",
    ),
    "by chance": (
        lambda plain: plain.update(model={"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []}),
        "dropout",
    ),
    "no unknown": (lambda plain: plain["model"].update(unk_token="[NONE]"), "unknown words"),
    "no id of the unknown": (
        lambda plain: plain.update(
            dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder")),
            model={"type": "Unigram", "vocab": [[piece, -1.0] for piece in KNOWN]},
        ),
        "unk_id",
    ),
    # Each character alone: in one long text, a prefix would be a small part.
    "long of short": (lambda plain: plain.update(normalizer=prepend("x" * 30)), "makes long texts"),
    "no model": (lambda plain: plain.pop("model"), "no model"),
    "another model": (lambda plain: plain["model"].update(type="Nonesuch"), "no model"),
    "an unknown step": (lambda plain: plain.update(pre_tokenizer={"type": "Nonesuch"}), "can't be read"),
    "many added": (
        lambda plain: plain.update(added_tokens=[{"id": n, "content": f"<{n}>"} for n in range(100_001)]),
        "tokens",
    ),
    "wrong ids": (lambda plain: plain["model"].update(vocab={"[UNK]": -1}), "can't be read"),
}  # fmt: skip


@pytest.mark.parametrize("spoil, why", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_tokenizer_json_is_refused(saved: Plain, spoil: Callable[[Plain], object], why: str) -> None:
    plain = json.loads(json.dumps(saved))
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
        ({"source.spm": b"x", "target.spm": b"x"}, "vocab.json is missing"),
        ({"source.spm": b"x", "target.spm": b"x", "vocab.json": '{"<unk>": 0}'}, "source.spm is no"),
    ],
)
def test_damaged_files_are_refused(texts: dict[str, str | bytes], why: str) -> None:
    with pytest.raises(CheckpointError, match=re.escape(why)):
        build(texts, "of its own")


def test_a_model_of_the_other_algorithm_is_refused() -> None:
    model = folders.sentence_pieces("bpe", corpus=folders.CORPUS[:2], size=60)
    assert "another kind" in refusal({"spiece.model": model}, "t5")


def test_marians_vocabulary_must_know_the_unknown() -> None:
    model = folders.sentence_pieces("unigram", corpus=folders.CORPUS[:2], size=60)
    texts: dict[str, str | bytes] = {"source.spm": model, "target.spm": model, "vocab.json": '{"a": 0}'}
    assert "'<unk>'" in refusal(texts, "marian")


def test_a_crash_is_told_in_words(saved: Plain) -> None:
    normalizer = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    assert refusal({"tokenizer.json": json.dumps(saved | {"normalizer": normalizer})})


def test_too_little_memory_is_told_in_words() -> None:
    vocabulary = "[UNK]\n" + "".join(f"{number}\n" for number in range(200_000))
    probe({"vocab.txt": vocabulary}, "bert")
    assert "memory" in refusal({"vocab.txt": vocabulary}, limits=ProbeLimits(memory_bytes=2**20))


def test_a_pattern_that_takes_for_ever_is_refused(saved: Plain) -> None:
    slow = saved | {"pre_tokenizer": split("(?:a|aa|a+)+b")}
    assert refusal({"tokenizer.json": json.dumps(slow)}, limits=ProbeLimits(seconds=5.0))


def test_a_folder_without_a_tokenizer_is_fine() -> None:
    probe({"config.json": "{}"}, "bert")
