from dataclasses import replace
from itertools import repeat

import pytest
import torch

from transformer.checkpoints.folder import LoadedModel
from transformer.data.batches import Batch, Example, encode_pair, make_batch
from transformer.data.tasks import ToyEnIt
from transformer.data.tasks.pairs import phrase, sentence_pair
from transformer.model.config import TransformerConfig
from transformer.model.trace import Recorder
from transformer.model.transformer import Transformer
from transformer.training.card import Making, model_card
from transformer.training.evaluation import translate_all
from transformer.training.recipe import Recipe, Training, prepare, training_pairs
from transformer.training.task_evaluation import (
    Translation,
    head_alignments,
    translations,
    word_coder,
    word_vocabulary,
)
from transformer.training.trainer import TrainingStep, train

CPU = torch.device("cpu")


def tiny_model(seed: int = 0) -> Transformer:
    config = TransformerConfig(
        src_vocab_size=17,
        tgt_vocab_size=19,
        d_model=16,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=2,
        d_ff=32,
        max_len=16,
        dropout=0.0,
        norm_position="pre",
        final_norm=True,
    )
    return Transformer(config, torch.Generator().manual_seed(seed))


def copying_batch() -> Batch:
    """Four sentences to be translated word by word: word w is w + 1."""
    sources = [(5, 6, 7), (9, 8), (12, 5, 11, 6), (7,)]
    return make_batch([Example((*s, 2), (1, *(w + 1 for w in s), 2)) for s in sources])


def run(model: Transformer, n_steps: int) -> list[TrainingStep]:
    return list(train(model, repeat(copying_batch(), n_steps), rate=lambda step: 0.01, smoothing=0.0))


def test_a_small_model_learns_one_batch_by_heart() -> None:
    model = tiny_model()
    steps = run(model, 60)
    assert [step.step for step in steps] == list(range(1, 61))
    assert steps[0].loss > 2
    assert steps[-1].loss < 0.05
    assert steps[0].n_tokens == 14
    assert steps[0].learning_rate == 0.01
    assert all(step.gradient_norm > 0 for step in steps)
    batch = copying_batch()
    predicted = model(batch.src, batch.tgt).argmax(dim=-1)
    assert torch.equal(predicted[batch.labels != 0], batch.labels[batch.labels != 0])


def test_training_is_repeatable_and_leaves_torchs_generator_alone() -> None:
    first, second = tiny_model(), tiny_model()
    state = torch.random.get_rng_state()
    assert [step.loss for step in run(first, 5)] == [step.loss for step in run(second, 5)]
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return Recipe(n_pairs=300, batch_tokens=256, n_encoder_layers=1, n_decoder_layers=2)


@pytest.fixture(scope="module")
def training(recipe: Recipe) -> Training:
    task = ToyEnIt()
    return prepare(task, list(training_pairs(task, recipe, seed=5)), recipe, seed=5, device=CPU)


@pytest.fixture(scope="module")
def steps(training: Training) -> list[TrainingStep]:
    return list(training.steps)


@pytest.fixture(scope="module")
def trained(training: Training, steps: list[TrainingStep]) -> LoadedModel:
    return training.finish()


def test_a_recipe_trains_a_model(trained: LoadedModel, training: Training, steps: list[TrainingStep]) -> None:
    assert len(steps) == training.n_steps
    assert steps[-1].loss < steps[0].loss
    assert not trained.model.training
    assert (trained.model.config.n_encoder_layers, trained.model.config.n_decoder_layers) == (1, 2)
    assert trained.source.encode("the").unknown == [False]


def test_a_recipe_is_repeatable(recipe: Recipe, steps: list[TrainingStep]) -> None:
    task = ToyEnIt()
    again = prepare(task, list(training_pairs(task, recipe, seed=5)), recipe, seed=5, device=CPU)
    assert next(again.steps).loss == steps[0].loss


def test_unknown_words_are_trained_on() -> None:
    task, recipe = ToyEnIt(), Recipe(n_pairs=50, unknown=1.0)
    training = prepare(task, list(training_pairs(task, recipe, seed=1)), recipe, seed=1, device=CPU)
    before = training.model.model.src_embedding.weight[3].clone()
    next(training.steps)
    assert not torch.equal(before, training.model.model.src_embedding.weight[3])


def test_translations_come_in_order_and_alone_or_together(trained: LoadedModel) -> None:
    pairs = ToyEnIt().held_out(7, seed=3)
    made = list(translations(trained, pairs))
    assert [translation.pair for translation in made] == pairs
    for translation in made:
        alone = translate_all(trained, [word_coder(trained.source).tokenizer.join(translation.pair.source)])[
            0
        ]
        assert alone[:40] == word_coder(trained.target).tokenizer.join(translation.words)[:40]


def test_an_exact_translation_has_every_word() -> None:
    (pair,) = ToyEnIt().held_out(1, seed=3)
    assert Translation(pair, pair.target).exact
    assert not Translation(pair, pair.target[:-1]).exact


def test_heads_are_ranked_by_their_alignment(trained: LoadedModel) -> None:
    heads = head_alignments(trained, ToyEnIt().held_out(20, seed=3))
    assert len({(head.layer, head.head) for head in heads}) == 2 * 4
    accuracies = [head.accuracy for head in heads]
    assert accuracies == sorted(accuracies, reverse=True)
    assert 0 <= accuracies[-1] <= accuracies[0] <= 1


def test_a_head_that_looks_where_it_should_is_counted_as_right(trained: LoadedModel) -> None:
    """With one source word each, <eos> apart, a head is right exactly where it prefers the word to <eos>."""
    pair = sentence_pair(phrase("is", "è"))
    example = encode_pair(pair, word_vocabulary(trained.source), word_vocabulary(trained.target))
    recorder = Recorder()
    trained.model(torch.tensor([example.src]), torch.tensor([example.tgt[:-1]]), tap=recorder)
    for found in head_alignments(trained, [pair]):
        weights = recorder.records[f"decoder.layers.{found.layer}.cross_attn.weights"][0, found.head, 0]
        assert found.accuracy == float(weights[0] > weights[1])


def making(other_load: float | None) -> Making:
    return Making(
        command="python -m transformer train",
        seed=5,
        recipe=Recipe(n_pairs=300),
        n_different=287,
        n_steps=12,
        wall_seconds=100.0,
        cpu_seconds=180.0,
        n_threads=2,
        other_load=other_load,
        final_loss=0.5,
        longest=20,
    )


def test_the_card_tells_how_it_was_made_and_what_it_scores(trained: LoadedModel) -> None:
    pairs = ToyEnIt().held_out(4, seed=3)
    translated = [Translation(pair, pair.target) for pair in pairs[:3]] + [Translation(pairs[3], ("no",))]
    heads = head_alignments(trained, pairs)
    card = model_card(replace(trained, name="tiny"), making(0.1), translated, heads)
    assert card.startswith("# tiny\n")
    assert "3 of 4 held-out sentences translated exactly (75.0 %)" in card
    assert "    python -m transformer train\n" in card
    assert "100 s of wall time and 180 s of CPU time" in card
    assert "otherwise quiet" in card
    assert "300 generated sentence pairs (seed 5), 287 of them different" in card
    assert f"→ no (expected: {word_coder(trained.target).tokenizer.join(pairs[3].target)})" in card
    assert f"head {heads[0].head} of decoder layer {heads[0].layer}" in card


def test_the_card_says_when_the_machine_was_busy(trained: LoadedModel) -> None:
    pairs = ToyEnIt().held_out(2, seed=3)
    translated = [Translation(pair, pair.target) for pair in pairs]
    card = model_card(trained, making(3.0), translated, head_alignments(trained, pairs))
    assert "3.0 on average" in card
    assert "wall time would be about 90 s" in card
    assert "Wrong ones (0 of 2):\n\nNone." in card
