"""A sentence's run: generated and given targets, labels, and refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.support.kinds import prompted
from tests.support.models import tiny_model, tiny_subword_model
from transformer.decoding.greedy import DecodingStep
from transformer.errors import SentenceError
from transformer.model_input import target_limit
from transformer.run import draw_target, encode_sentence, force, run_sentence, search
from transformer.text.vocabulary import BOS_ID, EOS_ID, PAD_ID


def test_generated_run_agrees_with_its_own_trace() -> None:
    loaded = tiny_model(3)
    run = run_sentence(loaded, "Yesterday I saw a zebra.")
    assert run.generated
    assert len(run.steps) == len(run.target_ids) == run.trace["logits"].shape[1]
    for i, step in enumerate(run.steps):
        logits = run.trace["logits"][0, i].clone()
        logits[[PAD_ID, BOS_ID]] = -torch.inf
        probabilities = logits.softmax(-1)
        assert step.token_id == int(probabilities.argmax()) == step.top_ids[0]
        assert step.probability == pytest.approx(float(probabilities[step.token_id]), abs=1e-5)
    assert run.target_ids[0] == BOS_ID
    assert list(run.target_ids[1:]) == [step.token_id for step in run.steps[:-1]]


def test_labels_are_the_words_as_typed_and_unknown_ones_are_told() -> None:
    run = run_sentence(tiny_model(), "Yesterday I saw a <b>zebra</b>.")
    assert run.trace.src_tokens[0] == (*run.source.words, "<eos>")
    assert run.source.words[:4] == ["Yesterday", "I", "saw", "a"]
    assert run.source.unknown[:4] == [False] * 4
    assert any(run.source.unknown[4:-1])
    attention = run.trace.attention("decoder", 2, "cross_attn")
    assert attention.weights.shape[-2:] == (len(run.trace.tgt_tokens[0]), len(run.trace.src_tokens[0]))
    assert attention.query_tokens == run.trace.tgt_tokens
    assert attention.key_tokens == run.trace.src_tokens


def test_given_target_is_forced() -> None:
    run = run_sentence(tiny_model(), "i saw a cat", "Ho visto un gatto")
    words = tiny_model().target.encode("ho visto un gatto").ids
    assert not run.generated
    assert run.target_ids == (BOS_ID, *words)
    assert [step.token_id for step in run.steps] == [*words, EOS_ID]
    assert run.trace.tgt_tokens[0] == ("<bos>", "Ho", "visto", "un", "gatto")


def test_forcing_what_was_generated_gives_the_same_run() -> None:
    loaded = tiny_model(3)
    generated = run_sentence(loaded, "i see the dog.")
    forced = force(loaded, generated.source, generated.target)
    assert all(torch.equal(forced.trace[path], generated.trace[path]) for path in generated.trace)


def test_a_target_that_fills_all_positions_ends_with_a_token_that_is_not_read() -> None:
    loaded = replace(prompted(), end_ids=())
    prompt = "the cat saw a dog " * 4
    source = encode_sentence(loaded, "source", prompt, "prompt")
    generated = run_sentence(loaded, prompt)
    n_read = len(generated.trace.tgt_tokens[0])
    assert n_read == loaded.model.config.max_len
    chosen = [step.token_id for step in generated.steps]
    forced = force(loaded, source, loaded.target.describe_ids(chosen))
    assert all(torch.equal(forced.trace[path], generated.trace[path]) for path in generated.trace)
    assert [step.token_id for step in forced.steps] == chosen
    assert (forced.target, forced.translation) == (generated.target, generated.translation)
    assert not forced.finished
    tree = search(loaded, source, beam_size=2, alpha=1.0)
    for leaf in tree.leaves:
        path = tree.path(leaf)[1:]
        run = force(loaded, source, loaded.target.describe_ids([node.token_id for node in path]))
        totals = [math.log(step.probability) for step in run.steps]
        assert sum(totals) == pytest.approx(path[-1].total, abs=1e-3)


def test_every_step_is_reported_with_the_limit() -> None:
    seen: list[tuple[DecodingStep, int]] = []
    run = run_sentence(tiny_model(), "the cat", on_step=lambda step, limit: seen.append((step, limit)))
    assert [step for step, _ in seen] == list(run.steps)
    assert all(step.position < limit <= 18 for step, limit in seen)


def test_a_forced_target_reads_as_the_model_was_given_it() -> None:
    run = run_sentence(tiny_model(), "i saw a cat", "Ho visto un procione")
    assert run.translation == "ho visto un <unk>"
    assert run.trace.tgt_tokens[0][-1] == "procione"
    sub_words = run_sentence(tiny_subword_model(), "I saw a cat", "Ho visto un procione: l’ho visto!")
    assert sub_words.translation == "Ho visto un procione: l’ho visto!"


def test_sub_words_label_the_positions() -> None:
    loaded = tiny_subword_model(2)
    run = run_sentence(loaded, "The zebra saw the dog's 🦝.")
    source = run.source
    assert run.trace.src_tokens[0] == (*source.tokens, "<eos>")
    assert len(source.tokens) > len(source.words)
    assert run.trace.tgt_tokens[0] == ("<bos>", *map(loaded.target.token, run.target_ids[1:]))
    assert run.trace["logits"].shape[1] == len(run.target_ids) == len(run.target.tokens) + 1
    assert run.trace["logits"].shape[2] == len(loaded.target.vocabulary)
    assert run.translation == loaded.target.decode([step.token_id for step in run.steps])


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b\u202e", "\x00"])
def test_no_words_are_refused(text: str) -> None:
    with pytest.raises(SentenceError, match="has no words: type at least one"):
        run_sentence(tiny_model(), text)


def test_too_long_says_how_long_it_may_be() -> None:
    loaded = tiny_model()
    assert run_sentence(loaded, "cat " * 18).trace["logits"].shape[0] == 1
    with pytest.raises(
        SentenceError, match="has 19 words and punctuation marks; this model reads at most 18"
    ):
        run_sentence(loaded, "cat " * 19)
    with pytest.raises(SentenceError, match="The target sentence has 19 words"):
        run_sentence(loaded, "cat", "gatto " * 19)


def test_too_long_counts_sub_words_where_the_model_reads_those() -> None:
    message = r"has 70 sub-words \(14 words and punctuation marks\); this model reads at most 60"
    with pytest.raises(SentenceError, match=message):
        run_sentence(tiny_subword_model(), "🦝 " * 14)


def test_a_trace_equals_itself_alone() -> None:
    first, second = (run_sentence(tiny_model(), "the cat").trace for _ in range(2))
    assert first == first
    assert first != second
    assert len({first, second}) == 2


def test_a_search_goes_on_after_a_prefix_and_keeps_to_the_limit() -> None:
    loaded = tiny_subword_model(1)
    source = encode_sentence(loaded, "source", "the zebra", "sentence")
    limit = target_limit(loaded, len(source.ids) + 1)
    for length in (2, limit - 1):
        prefix = tuple(range(270, 275)) * 20
        tree = search(loaded, source, beam_size=3, alpha=1.0, prefix=prefix[:length])
        assert tree.n_given == 1 + length < len(tree.nodes)
        assert tree.nodes[-1].position <= limit
        assert all(hypothesis.ids[:length] == prefix[:length] for hypothesis in tree.hypotheses)


def test_a_drawn_target_is_the_seed_s_and_nearly_cold_it_is_the_greedy_one() -> None:
    loaded = tiny_model(3)
    run = run_sentence(loaded, "i see the dog.")
    drawn = [draw_target(loaded, run.source, seed=seed).ids for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len(set(map(tuple, drawn))) > 1
    cold = draw_target(loaded, run.source, seed=5, temperature=1e-4)
    assert cold.ending == run.ending
    assert cold.ids[: len(run.target.ids)] == tuple(run.target.ids)
    prefix = (5, 6)
    assert draw_target(loaded, run.source, seed=1, prefix=prefix).ids[:2] == prefix
