from random import Random

import pytest
import torch

from transformer.data.batches import (
    Example,
    batch_starts,
    batches,
    build_vocabulary,
    encode_pair,
    make_batch,
    with_unknown_word,
)
from transformer.data.tasks import SentencePair, ToyEnIt
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Vocabulary

SOURCE = Vocabulary(["the", "cat", "sleeps"])
TARGET = Vocabulary(["il", "gatto", "dorme"])
CAT_SLEEPS = SentencePair(
    source=("the", "cat", "sleeps"),
    target=("il", "gatto", "dorme"),
    alignment=frozenset({(0, 0), (1, 1), (2, 2)}),
    replaceable=frozenset({(1, 1), (2, 2)}),
)


def examples(count: int) -> list[Example]:
    rng = Random(0)
    return [
        Example((*range(4, 4 + rng.randint(1, 20)), EOS_ID), (BOS_ID, 4, 5, EOS_ID)) for _ in range(count)
    ]


def test_a_vocabulary_begins_with_the_most_frequent_word() -> None:
    vocabulary = build_vocabulary([["b", "a"], ["c", "a"]])
    assert vocabulary.to_list()[4:] == ["a", "b", "c"]


def test_encoding_a_pair() -> None:
    example = encode_pair(CAT_SLEEPS, SOURCE, TARGET)
    assert example.src == (4, 5, 6, EOS_ID)
    assert example.tgt == (BOS_ID, 4, 5, 6, EOS_ID)
    assert example.length == 4


def test_an_unknown_word_is_unknown_on_both_sides() -> None:
    example = encode_pair(CAT_SLEEPS, SOURCE, TARGET)
    made = {with_unknown_word(CAT_SLEEPS, example, Random(seed)) for seed in range(20)}
    assert made == {
        Example((4, UNK_ID, 6, EOS_ID), (BOS_ID, 4, UNK_ID, 6, EOS_ID)),
        Example((4, 5, UNK_ID, EOS_ID), (BOS_ID, 4, 5, UNK_ID, EOS_ID)),
    }


def test_a_pair_without_content_words_stays_as_it_is() -> None:
    pair = SentencePair(("yes",), ("sì",), frozenset({(0, 0)}), frozenset())
    example = Example((4, EOS_ID), (BOS_ID, 4, EOS_ID))
    assert with_unknown_word(pair, example, Random(0)) == example


@pytest.mark.parametrize("seed", range(5))
def test_unknown_words_of_the_task_are_aligned(seed: int) -> None:
    rng = Random(seed)
    pairs = ToyEnIt().held_out(200, seed)
    source = build_vocabulary(pair.source for pair in pairs)
    target = build_vocabulary(pair.target for pair in pairs)
    for pair in pairs:
        made = with_unknown_word(pair, encode_pair(pair, source, target), rng)
        unknown = [
            (i, j - 1) for i, a in enumerate(made.src) for j, b in enumerate(made.tgt) if a == b == UNK_ID
        ]
        assert len(unknown) == bool(pair.replaceable)
        assert set(unknown) <= pair.alignment


def test_a_batch_is_padded_and_its_labels_are_one_step_ahead() -> None:
    batch = make_batch(
        [Example((4, 5, 6, EOS_ID), (BOS_ID, 4, EOS_ID)), Example((4, EOS_ID), (BOS_ID, EOS_ID))]
    )
    assert batch.src.tolist() == [[4, 5, 6, EOS_ID], [4, EOS_ID, PAD_ID, PAD_ID]]
    assert batch.tgt.tolist() == [[BOS_ID, 4], [BOS_ID, PAD_ID]]
    assert batch.labels.tolist() == [[4, EOS_ID], [EOS_ID, PAD_ID]]


def test_batches_hold_every_example_once_and_few_paddings() -> None:
    data = examples(500)
    seen, positions, padding = [], 0, 0
    for batch in batches(data, tokens=128, generator=torch.Generator().manual_seed(0)):
        assert batch.src.numel() <= 128
        positions += batch.src.numel()
        padding += int((batch.src == PAD_ID).sum())
        seen += [tuple(token for token in row if token != PAD_ID) for row in batch.src.tolist()]
    assert sorted(seen) == sorted(example.src for example in data)
    assert padding < 0.1 * positions


def test_a_batch_is_as_full_as_its_longest_example_lets_it_be() -> None:
    assert batch_starts([1, 2, 3, 3, 9, 9], tokens=6) == [0, 2, 4, 5]
    assert batch_starts([1, 2, 3, 3, 9, 9], tokens=54) == [0]


def test_an_example_longer_than_a_batch_makes_its_own() -> None:
    data = [Example((*range(4, 54), EOS_ID), (BOS_ID, EOS_ID)), *examples(3)]
    sizes = [b.src.shape[0] for b in batches(data, tokens=30, generator=torch.Generator().manual_seed(0))]
    assert sum(sizes) == 4


def test_the_order_is_the_generators() -> None:
    def order(seed: int) -> list[list[int]]:
        made = batches(examples(200), tokens=64, generator=torch.Generator().manual_seed(seed))
        return [batch.src.flatten().tolist() for batch in made]

    state = torch.random.get_rng_state()
    assert order(1) == order(1) != order(2)
    assert torch.equal(torch.random.get_rng_state(), state)
