from dataclasses import replace
from pathlib import Path

import pytest
import torch

from transformer.data.batches import Batch, Example, encode_pair, make_batch
from transformer.data.tasks import SentencePair, ToyEnIt
from transformer.loaded import LoadedModel, freeze
from transformer.model.config import TransformerConfig
from transformer.model.trace import Recorder
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import UNK_ID
from transformer.training.card import RunRecord, task_card
from transformer.training.choices import task_plan
from transformer.training.data import TaskData
from transformer.training.evaluation.tasks import (
    Translation,
    head_alignments,
    translations,
    word_coder,
)
from transformer.training.evaluation.translations import translate_all
from transformer.training.folder import TrainingFolder
from transformer.training.optimization.trainer import Trainer, TrainingStep
from transformer.training.plan import TrainingPlan, UpdatePlan
from transformer.training.prepare import Prepared, first_model, new_trainer, open_prepared, task_coders
from transformer.training.state import Progress

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
    """Four sentences to translate word by word: word w becomes w + 1."""
    sources = [(5, 6, 7), (9, 8), (12, 5, 11, 6), (7,)]
    return make_batch([Example((*s, 2), (1, *(w + 1 for w in s), 2)) for s in sources])


def run(model: Transformer, n_steps: int) -> list[TrainingStep]:
    trainer = Trainer(model, rate=lambda step: 0.01, smoothing=0.0)
    return [trainer.update([copying_batch()]) for _ in range(n_steps)]


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


def small_plan(n_pairs: int) -> TrainingPlan:
    plan = task_plan("toy-en-it")
    return replace(
        plan,
        data=replace(plan.data, n_pairs=n_pairs),
        model=replace(plan.model, n_encoder_layers=1, n_decoder_layers=2),
        updates=replace(plan.updates, batch_tokens=256, seed=5),
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return open_prepared(TrainingFolder(tmp_path_factory.mktemp("task")), small_plan(300))


@pytest.fixture(scope="module")
def trained(prepared: Prepared) -> tuple[LoadedModel, list[TrainingStep]]:
    """A model after one epoch of a task's pairs, and the updates of that epoch."""
    loaded = first_model(small_plan(300), "toy-en-it", prepared, CPU)
    trainer = new_trainer(prepared.updates, loaded)
    steps = [trainer.update([prepared.data.batch(group)]) for group in prepared.data.epoch(0)]
    freeze(loaded.model)
    return loaded, steps


@pytest.fixture(scope="module")
def model(trained: tuple[LoadedModel, list[TrainingStep]]) -> LoadedModel:
    return trained[0]


def test_a_task_trains_a_model(trained: tuple[LoadedModel, list[TrainingStep]], prepared: Prepared) -> None:
    loaded, steps = trained
    assert len(steps) == prepared.updates.steps
    assert prepared.updates.warmup == max(1, round(0.05 * len(steps)))
    assert steps[-1].loss < steps[0].loss
    assert (loaded.model.config.n_encoder_layers, loaded.model.config.n_decoder_layers) == (1, 2)
    assert loaded.source.encode("the").unknown == [False]


def test_the_same_plan_gives_the_same_rounds_and_weights(prepared: Prepared, tmp_path: Path) -> None:
    plan, folder = small_plan(300), TrainingFolder(tmp_path)
    one, other = (open_prepared(folder, plan) for _ in range(2))
    assert one.data.identity == other.data.identity == prepared.data.identity
    batches = [opened.data.batch(opened.data.epoch(1)[3]) for opened in (prepared, one)]
    assert torch.equal(batches[0].src, batches[1].src)
    weights = [first_model(plan, "a", opened, CPU).model.generator.weight for opened in (one, other)]
    assert torch.equal(*weights)


def test_rounds_of_new_pairs_differ_and_come_again() -> None:
    task = ToyEnIt()
    coders = task_coders(task)
    vocabularies = (word_coder(coders[0]).vocabulary, word_coder(coders[1]).vocabulary)
    data = TaskData(task, [], vocabularies, UpdatePlan(batch_tokens=256, seed=5))
    first, second, again = (data.epoch(number) for number in (0, 1, 0))
    assert torch.equal(first[0].src, again[0].src)
    assert not any(torch.equal(first[0].src, batch.src) for batch in second)
    assert data.n_labels == 0


def test_some_words_are_trained_on_as_unknown(prepared: Prepared) -> None:
    """Together with their translations, in the intended share of pairs."""
    groups = map(prepared.data.batch, prepared.data.epoch(0))
    unknown = [bool((row == UNK_ID).any()) for batch in groups for row in batch.src]
    assert 0.02 < sum(unknown) / len(unknown) < 0.08


def test_translations_come_in_order_and_alone_or_together(model: LoadedModel) -> None:
    pairs = ToyEnIt().held_out(7, seed=3)
    made = list(translations(model, pairs))
    assert [translation.pair for translation in made] == pairs
    for translation in made:
        alone = translate_all(model, [word_coder(model.source).tokenizer.join(translation.pair.source)])[0]
        assert alone[:40] == word_coder(model.target).tokenizer.join(translation.words)[:40]


def test_an_exact_translation_has_every_word() -> None:
    (pair,) = ToyEnIt().held_out(1, seed=3)
    assert Translation(pair, pair.target).exact
    assert not Translation(pair, pair.target[:-1]).exact


def test_heads_are_ranked_by_their_alignment(model: LoadedModel) -> None:
    heads = head_alignments(model, ToyEnIt().held_out(20, seed=3))
    assert len({(head.layer, head.head) for head in heads}) == 2 * 4
    accuracies = [head.accuracy for head in heads]
    assert accuracies == sorted(accuracies, reverse=True)
    assert 0 <= accuracies[-1] <= accuracies[0] <= 1


def test_a_head_that_looks_where_it_should_is_counted_as_right(model: LoadedModel) -> None:
    """With one source word and <eos>, a head is right exactly if it prefers the word to <eos>."""
    pair = SentencePair(("is",), ("è",), frozenset({(0, 0)}), frozenset())
    example = encode_pair(pair, word_coder(model.source).vocabulary, word_coder(model.target).vocabulary)
    recorder = Recorder()
    model.model(torch.tensor([example.src]), torch.tensor([example.tgt[:-1]]), tap=recorder)
    for found in head_alignments(model, [pair]):
        weights = recorder.records[f"decoder.layers.{found.layer}.cross_attn.weights"][0, found.head, 0]
        assert found.accuracy == float(weights[0] > weights[1])


def record(plan: TrainingPlan) -> RunRecord:
    return RunRecord(
        command="python -m transformer train",
        plan=replace(plan, updates=plan.updates.settled(12)),
        progress=Progress(step=12, tokens=5_000, seconds=100.0),
        n_labels=4_000,
        data={"pairs": 300, "different": 287, "longest": 20},
        device=CPU,
        n_threads=2,
        n_processes=1,
    )


def test_the_card_tells_how_it_was_made_and_what_it_scores(model: LoadedModel) -> None:
    pairs = ToyEnIt().held_out(4, seed=3)
    translated = [Translation(pair, pair.target) for pair in pairs[:3]] + [Translation(pairs[3], ("no",))]
    heads = head_alignments(model, pairs)
    card = task_card(replace(model, name="tiny"), record(small_plan(300)), translated, heads, 0.5)
    assert card.startswith("# tiny\n")
    assert "3 of 4 held-out sentences translated exactly (75.0 %)" in card
    assert "    python -m transformer train\n" in card
    assert "- Time: 100 s for the updates, on 2 threads" in card
    assert "12 updates of a batch of up to 256 positions, 5,000 target words" in card
    assert "1.2 rounds through the data" in card
    assert "300 sentence pairs drawn with seed 5, 287 of them different" in card
    assert f"→ no (expected: {word_coder(model.target).tokenizer.join(pairs[3].target)})" in card
    assert f"head {heads[0].head} of decoder layer {heads[0].layer}" in card
    assert "at most 20 words" in card


def test_the_card_says_so_when_nothing_was_wrong(model: LoadedModel) -> None:
    pairs = ToyEnIt().held_out(2, seed=3)
    translated = [Translation(pair, pair.target) for pair in pairs]
    card = task_card(model, record(small_plan(0)), translated, head_alignments(model, pairs), 0.5)
    assert "Wrong ones (0 of 2):\n\nNone." in card
