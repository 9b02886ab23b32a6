"""Runs of every kind of model: prompts, masked words, targets with several start tokens, or no target."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.support.kinds import KINDS, config_of, masked, prompted, reader, rotary
from tests.support.renumbered import BOS_ID, EOS_ID, LANGUAGE, MASK, PAD_ID
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel, freeze
from transformer.model.transformer import Transformer
from transformer.model_input import beginning
from transformer.run import Run, draw_target, encode_sentence, run_again, run_sentence, search
from transformer.text.coder import SpecialTokens
from transformer.text.ids import IdCoder
from transformer.tracing import trace_batch

TEXT = "Yesterday I saw the dog."
WRITERS = [name for name, make in KINDS.items() if name in ("prompted", "rotary", "relative", "languages")]
WITHOUT_ENCODER = [name for name, make in KINDS.items() if config_of(make).kind == "decoder-only"]


def forward(loaded: LoadedModel, run: Run, ids: tuple[int, ...]) -> torch.Tensor:
    """Logits (T, V) of the plain forward."""
    src = None if run.encoder_input is None else torch.tensor([run.encoder_input.ids])
    return loaded.model(src, torch.tensor([ids]))[0]


@pytest.mark.parametrize("name", WRITERS)
def test_each_generated_token_is_the_best_of_a_forward_over_those_before_it(name: str) -> None:
    loaded = KINDS[name]()
    run = run_sentence(loaded, TEXT)
    assert run.generated
    n_given = len(run.target_ids) - len(run.target.ids)
    for i, step in enumerate(run.steps):
        logits = forward(loaded, run, run.target_ids[: n_given + i])[-1]
        logits[list(loaded.target.special_tokens.suppressed)] = -torch.inf
        assert step.token_id == int(logits.argmax())
        assert step.probability == pytest.approx(float(logits.softmax(-1).max()), abs=1e-6)
    assert run.finished == (run.steps[-1].token_id in loaded.end_ids)
    assert run.target_logits.shape == (len(run.target.ids) + 1, loaded.model.config.tgt_vocab_size)


@pytest.mark.parametrize("name", WITHOUT_ENCODER)
def test_a_prompt_is_gone_on_with(name: str) -> None:
    loaded = KINDS[name]()
    run = run_sentence(loaded, TEXT)
    prompt = loaded.target.frame(run.source.ids)
    assert run.encoder_input is None
    assert run.trace.src_tokens == ()
    assert run.target_ids == (*prompt, *run.target.ids)
    assert run.trace.tgt_tokens[0][len(prompt) - 1] == "."
    assert run.translation.startswith("yesterday i saw the dog.")
    assert run.decoder_input is not None
    assert run.decoder_input.first == run.target_ids.count(BOS_ID)
    assert run.decoder_input.ids[run.decoder_input.first :] == tuple(run.decoder_input.sentence.ids)
    assert run.decoder_input.sentence.word_of == list(range(len(run.source.ids) + len(run.target.ids)))


@pytest.mark.parametrize("name", WITHOUT_ENCODER)
def test_a_typed_continuation_is_forced_and_does_not_end(name: str) -> None:
    loaded = KINDS[name]()
    run = run_sentence(loaded, "Yesterday I saw", "the zebra")
    assert not run.generated
    assert not run.finished
    assert run.source.words == ["Yesterday", "I", "saw"]
    assert run.target.words == ["the", "zebra"]
    assert run.target.unknown == [False, True]
    assert [step.token_id for step in run.steps] == run.target.ids
    logits = forward(loaded, run, run.target_ids)[-3:-1]
    logits[:, list(loaded.target.special_tokens.suppressed)] = -torch.inf
    for step, probabilities in zip(run.steps, logits.softmax(-1), strict=True):
        assert step.probability == pytest.approx(float(probabilities[step.token_id]), abs=1e-6)


def test_a_prompt_and_its_continuation_together_are_not_longer_than_the_model() -> None:
    with pytest.raises(SentenceError, match="at most 40"):
        run_sentence(rotary(), "cat " * 30, "dog " * 11)
    assert len(run_sentence(rotary(), "cat " * 30, "dog " * 10).target_ids) == 41


def test_a_target_has_the_room_after_its_first_tokens_though_both_sides_share_a_coder() -> None:
    """The source is framed by one token; the target starts with two."""
    loaded = replace(KINDS["relative"](), start_ids=(PAD_ID, BOS_ID))
    assert loaded.source is loaded.target
    run = run_sentence(loaded, "cat " * 40, "dog " * 39)
    assert run.encoder_input is not None
    assert (len(run.encoder_input.ids), len(run.target_ids)) == (41, 41)
    with pytest.raises(SentenceError, match="at most 39"):
        run_sentence(loaded, "cat " * 40, "dog " * 40)


def test_a_continuation_has_all_the_room_after_its_prompt_though_each_side_has_a_coder() -> None:
    """Start tokens precede neither the prompt nor the continuation."""
    coders = [
        IdCoder(rows=13, special_tokens=SpecialTokens(pad=None, bos=1, eos=2, unk=None)) for _ in range(2)
    ]
    loaded = replace(prompted(), source=coders[0], target=coders[1])
    assert len(run_sentence(loaded, "5 " * 30, "7 " * 11).target_ids) == 41
    with pytest.raises(SentenceError, match="at most 41"):
        run_sentence(loaded, "5 " * 30, "7 " * 12)


def test_the_longest_prompt_still_gets_one_token() -> None:
    run = run_sentence(prompted(), "cat " * 41)
    assert len(run.steps) == 1
    assert run.target.ids == []


def test_masked_words_are_found_and_others_are_asked_about() -> None:
    loaded = masked()
    run = run_sentence(loaded, f"Yesterday I {MASK} the {MASK}.")
    assert run.generated
    assert run.target_ids == ()
    assert run.trace.src_tokens[0] == ("<bos>", "Yesterday", "I", MASK, "the", MASK, ".", "<eos>")
    logits = run.trace["logits"][0].clone()
    logits[:, [PAD_ID, BOS_ID]] = -torch.inf
    assert [step.position for step in run.steps] == [3, 5]
    assert [step.token_id for step in run.steps] == logits[[3, 5]].argmax(-1).tolist()
    words = list(map(loaded.source.token, (step.token_id for step in run.steps)))
    assert run.translation == f"yesterday i {words[0]} the {words[1]}."
    plain = run_sentence(loaded, TEXT)
    assert not plain.generated
    assert [step.token_id for step in plain.steps] == plain.source.ids
    assert [step.position for step in plain.steps] == [1, 2, 3, 4, 5, 6]


def test_a_model_without_generator_is_only_read() -> None:
    for make in (reader, KINDS["stacks"]):
        run = run_sentence(make(), TEXT)
        assert run.steps == ()
        assert "logits" not in run.trace
    forced = run_sentence(KINDS["stacks"](), TEXT, "il gatto")
    assert forced.trace.tgt_tokens[0] == ("<bos>", "il", "gatto")
    assert forced.steps == ()


def test_a_target_may_begin_with_several_tokens() -> None:
    loaded = KINDS["languages"]()
    run = run_sentence(loaded, TEXT, "il gatto")
    assert run.target_ids[:2] == loaded.start_ids
    assert run.trace.src_tokens[0][-2:] == ("<eos>", LANGUAGE)
    assert [step.token_id for step in run.steps] == [*run.target.ids, EOS_ID]


@pytest.mark.parametrize("name", WRITERS)
def test_searching_and_drawing_begin_after_the_prompt(name: str) -> None:
    loaded = KINDS[name]()
    run = run_sentence(loaded, TEXT)
    tree = search(loaded, run.source, beam_size=1, alpha=0.0)
    assert tree.hypotheses[0].ids[: len(run.target.ids)] == tuple(run.target.ids)
    assert tree.nodes[0].token_id == beginning(loaded, run.source).decoder.ids[-1]
    cold = draw_target(loaded, run.source, seed=5, temperature=1e-4).ids
    assert cold[: len(run.target.ids)] == tuple(run.target.ids)
    after = search(loaded, run.source, beam_size=2, alpha=0.0, prefix=(9, 10))
    logits = forward(loaded, run, (*beginning(loaded, run.source).decoder.ids, 9, 10))
    logits[:, list(loaded.target.special_tokens.suppressed)] = -torch.inf
    expected = logits.log_softmax(-1)[-3:]
    given = [node.log_probability for node in after.nodes[1:3]]
    assert given == pytest.approx([float(expected[0, 9]), float(expected[1, 10])], abs=1e-5)
    best = max(node.log_probability for node in after.nodes if node.position == 3)
    assert best == pytest.approx(float(expected[2].max()), abs=1e-5)


def test_every_end_ends_a_search() -> None:
    loaded = rotary()
    source = encode_sentence(loaded, "source", TEXT, "sentence")
    ends = {
        node.token_id
        for size in (2, 3, 5)
        for node in search(loaded, source, beam_size=size, alpha=0.0).nodes
        if node.ends
    }
    assert ends == set(loaded.end_ids)


@pytest.mark.parametrize("name", KINDS)
def test_a_batch_is_its_sentences(name: str) -> None:
    loaded = KINDS[name]()
    texts = ("the cat", "yesterday i saw the dog.")
    batch = trace_batch(loaded, [encode_sentence(loaded, "source", text, "sentence") for text in texts])
    stack = "decoder" if loaded.model.config.n_decoder_layers else "encoder"
    path = f"{stack}.layers.1.resid_post"
    for row, text in enumerate(texts):
        if row == 0 and not loaded.model.config.memory_padding_mask:
            continue  # its cross-attention sees the padding, so the shorter sentence differs from a run alone
        run = run_sentence(loaded, text)
        whole = run.decoder_input or run.encoder_input
        assert whole is not None
        ids = loaded.target.frame(run.source.ids) if name in WITHOUT_ENCODER else whole.ids
        n = min(len(ids), batch[path].shape[1])
        torch.testing.assert_close(batch[path][row, :n], run.trace[path][0, :n], atol=1e-5, rtol=0)


def test_an_encoder_that_knows_no_padding_takes_no_unequal_batch() -> None:
    loaded = reader()
    config = replace(loaded.model.config, pad_id=-1)
    unpadded = replace(loaded, model=freeze(Transformer(config, torch.Generator().manual_seed(1))))
    encoded = [loaded.source.encode(text) for text in ("the cat", "the dog")]
    assert len(trace_batch(unpadded, encoded).src_tokens) == 2
    with pytest.raises(SentenceError, match="no padding token"):
        trace_batch(unpadded, [*encoded, loaded.source.encode("a")])


@pytest.mark.parametrize("name", KINDS)
def test_the_same_input_runs_in_another_model(name: str) -> None:
    loaded = KINDS[name]()
    run = run_sentence(loaded, TEXT)
    twin = Transformer(loaded.model.config, torch.Generator().manual_seed(1))
    again = run_again(replace(loaded, model=freeze(twin)), run)
    assert again.trace.src_tokens == run.trace.src_tokens
    assert again.trace.tgt_tokens == run.trace.tgt_tokens


def test_a_token_that_the_model_has_no_row_for_is_refused() -> None:
    loaded = masked()
    config = replace(loaded.model.config, src_vocab_size=13)
    smaller = replace(loaded, model=freeze(Transformer(config, torch.Generator().manual_seed(1))))
    with pytest.raises(SentenceError, match="ids end at 12"):
        run_sentence(smaller, TEXT)
