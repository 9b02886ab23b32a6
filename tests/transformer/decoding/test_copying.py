"""Every decoder spells a name of the source to its end once it is begun, each row its own names."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.support.models import tiny_subword_model
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy, greedy_batch
from transformer.decoding.request import DecodingRequest, surest
from transformer.experience import Experience
from transformer.model.transformer import Transformer
from transformer.model_input import copied_words, decoding_request, padded
from transformer.run import generate, search
from transformer.text.copied import CopiedWords
from transformer.text.subwords import SubwordCoder, SubwordVocabulary
from transformer.training.evaluation.translations import source_ids

NO_JOINTS = np.array([], dtype=np.int64)
LOADED = tiny_subword_model(seed=3)
LOADED = replace(
    LOADED,
    experience=Experience(
        (25,) * 40, len(LOADED.target.vocabulary), NO_JOINTS, translated=frozenset({"the", "saw", "rome"})
    ),
)
SOURCES = [source_ids(LOADED, f"The dog saw {name} and Rome.") for name in ("Katzi", "Katolo")]
BEGUN = LOADED.target.encode("vedo Kat").ids

Decode = Callable[[Transformer, Tensor, DecodingRequest], Sequence[Sequence[int]]]


def target_vocabulary() -> SubwordVocabulary:
    assert isinstance(LOADED.target, SubwordCoder)
    return LOADED.target.vocabulary


def by_steps(model: Transformer, src: Tensor, request: DecodingRequest) -> list[list[int]]:
    """Decode one source after the other, step by step."""
    found = []
    for row in range(len(src)):
        alone = replace(request, copied=request.copied[row : row + 1], max_new_tokens=20)
        steps = greedy(model, src[row : row + 1], alone)
        found.append([*request.prefix, *(step.token_id for step in steps)])
    return found


WAYS: dict[str, Decode] = {
    "greedy, step by step": by_steps,
    "greedy, as a batch": lambda *asked: [one.ids for one in greedy_batch(*asked)],
    "beam search": lambda *asked: [one[0].ids for one in beam_search(*asked, beam_size=3)],
}


@pytest.mark.parametrize("way", WAYS)
def test_each_row_spells_its_own_name(way: str) -> None:
    src = padded(LOADED, SOURCES)
    limit = len(BEGUN) + 20
    asked = decoding_request(LOADED, LOADED.start_ids, limit, BEGUN, sources=SOURCES)
    free = replace(asked, copied=[CopiedWords([], "", target_vocabulary())] * 2)
    for is_copied, request in ((True, asked), (False, free)):
        texts = [LOADED.target.decode(ids) for ids in WAYS[way](LOADED.model, src, request)]
        for name, text in zip(("Katzi", "Katolo"), texts, strict=True):
            assert bool(re.match(rf"vedo {name}(?!\w)", text)) == is_copied, text


@pytest.mark.parametrize("way", WAYS)
def test_a_model_without_an_idea_begins_a_name_of_its_row(way: str) -> None:
    clueless = copy.deepcopy(LOADED.model)
    torch.nn.init.zeros_(clueless.generator.weight)
    request = decoding_request(LOADED, LOADED.start_ids, 20, sources=SOURCES)
    texts = [LOADED.target.decode(ids) for ids in WAYS[way](clueless, padded(LOADED, SOURCES), request)]
    for name, text in zip(("Katzi", "Katolo"), texts, strict=True):
        assert re.match(rf"{name}(?!\w)", text), text
        assert text.count(name) == 1, "it is not missing any more"


@pytest.mark.parametrize(
    "target, follows",
    [
        ("", " "),
        ("vedo", " "),
        ("vedo K", "a"),
        ("vedo Ka", "t"),
        ("l'", "K"),
        ("Katzi e", None),
        ("vedo <0xC5>", None),
    ],
)
def test_where_there_is_no_idea_a_missing_name_begins_or_goes_on(target: str, follows: str | None) -> None:
    """Nothing begins after half a letter."""
    copied = copied_words(LOADED, SOURCES[0])
    assert copied is not None
    text, *half = target.split("<0xC5>")
    ids = LOADED.target.encode(text).ids + [target_vocabulary().byte(0xC5) for _ in half]
    left = target_vocabulary().all_ids - copied.closed(ids, surest=0.01)
    if follows is None:
        assert len(left) > 100
    else:
        assert {target_vocabulary().spell(index).decode() for index in left} == {follows}


def test_after_a_whole_name_another_one_begins() -> None:
    """The end of the first name doesn't continue as another name that begins with it."""
    copied = copied_words(LOADED, source_ids(LOADED, "the dog saw Jo-Katzi and Katziolo"))
    assert copied is not None
    left = target_vocabulary().all_ids - copied.closed(LOADED.target.encode("Jo-Katzi").ids, surest=0.01)
    assert {target_vocabulary().spell(index) for index in left} == {b" "}


def test_the_tree_tells_what_could_not_come() -> None:
    source = LOADED.source.encode("The dog saw Katzi and Rome.")
    tree = search(LOADED, source, beam_size=2, alpha=1.0, prefix=BEGUN)
    last_given = tree.nodes[tree.n_given - 1].index
    zed = set(LOADED.target.encode("z").ids[-1:])
    assert not tree.misspelling[last_given] & zed
    assert len(tree.misspelling[last_given]) > 250
    assert all(LOADED.target.decode(one.ids).startswith("vedo Katzi") for one in tree.hypotheses)


def test_a_run_tells_it_of_each_step() -> None:
    run = generate(LOADED, LOADED.source.encode("The dog saw Katzi."))
    copied = copied_words(LOADED, SOURCES[0])
    assert copied is not None
    target = [step.token_id for step in run.steps]
    begun = [target[:n] for n in range(len(target))]
    probabilities = [surest(logits[None])[0] for logits in run.target_logits[: len(target)]]
    closed = [
        copied.closed(ids, probability) | copied.invented_letters(ids)
        for ids, probability in zip(begun, probabilities, strict=True)
    ]
    assert [step.misspelling for step in run.steps] == closed


def test_a_name_may_come_a_second_time() -> None:
    """Then its n-grams may repeat; no others may."""
    once = LOADED.target.encode("Katzi e Kat").ids
    request = decoding_request(LOADED, LOADED.start_ids, 40, sources=SOURCES[:1], no_repeat=2)
    repeating, misspelling = request.closed(once)
    assert request.repeating(once)
    assert not repeating
    assert misspelling


@pytest.mark.parametrize(
    "name, is_copied",
    [("Kat-olo", True), ("The-olo", False), ("Katolo-Rome", False), ("Katolo-rome", True), ("Rome", False)],
)
def test_a_name_with_a_hyphen_is_one_unless_a_name_in_it_is_translated(name: str, is_copied: bool) -> None:
    copied = copied_words(LOADED, source_ids(LOADED, f"the dog saw {name}"))
    assert copied is not None
    assert bool(copied.closed(LOADED.target.encode(f"vedo {name[:-1]}").ids)) == is_copied


def test_where_nothing_was_noted_nothing_is_copied() -> None:
    untold = replace(LOADED, experience=None)
    assert copied_words(untold, SOURCES[0]) is None
    assert not decoding_request(untold, (1,), 9, sources=SOURCES).copied
