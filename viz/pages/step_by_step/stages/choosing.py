"""The token chosen from a row of probabilities, and the input of the next step."""

from __future__ import annotations

from transformer import run as running
from transformer.decoding.greedy import DecodingStep, greedy
from viz.figures.labels import visible
from viz.markdown import quoted
from viz.pages.step_by_step.stages.source import assigning, calling
from viz.pages.step_by_step.stages.stage import ALL, Matrix, Operand, Stage
from viz.pages.step_by_step.stages.way import Way, numbered, words_of


def choice(way: Way, probabilities: Matrix, best: int, step: DecodingStep | None) -> Stage:
    """The row's token: chosen by the model, or given.

    Args:
        best: the id of the most probable token.
        step: the run's step at this row; None if this row chose no token.
    """
    coder = way.coder(way.writer)
    taken = best if step is None else step.token_id
    name = visible(coder.token(taken))
    share = float(probabilities.values[0, 0])
    if step is not None and way.writer == "decoder" and not way.run.generated:
        code, title = assigning(running.force, "labels"), "The token that was given"
        place = "the most probable one" if step.rank == 1 else f"number {step.rank:,} by probability"
        notice = (
            "The target was given (teacher forcing), so nothing is chosen. The given token "
            f"{quoted(name)} is {place}, with {step.probability:.1%}; the model itself would have taken "
            f"{quoted(coder.token(best))}."
        )
    elif way.writer == "decoder":
        code, title = assigning(greedy, "token"), "The chosen token"
        notice = f"Greedy decoding takes the most probable token: {quoted(name)}, with {share:.1%}."
    else:
        code, title = calling(running.read, "argmax"), "The token that fits best"
        own = coder.token(way.ids("encoder")[way.position])
        notice = (
            f"In this place the sentence has {quoted(own)}; of all tokens the model gives "
            f"{quoted(coder.token(best))} the most, {share:.1%}. An encoder reads the sentence once, and "
            "there is no next step."
        )
        taken = best
        name = visible(coder.token(best))
    return Stage(
        name="choice",
        title=title,
        stack=None,
        block="generator",
        formula="" if "given" in title else r"\arg\max_i \, p_i",
        operands=[Operand(probabilities, ALL)],
        result=words_of("token", [name], probabilities.rows, "chosen"),
        code=[code],
        notice=notice,
    )


def round_again(way: Way, step: DecodingStep) -> Stage:
    """The decoder's input at the next step."""
    read = [visible(token) for token in way.tokens("decoder")[: way.position + 1]]
    token = visible(way.loaded.target.token(step.token_id))
    ends = step.token_id in way.loaded.end_ids
    follows = way.position + 1 < len(way.tokens("decoder"))
    after = [*read, token] if follows else read
    if ends:
        notice = f"{quoted(token)} ends the target after {len(read)} tokens read: there is no next step."
    elif not follows:
        notice = (
            f"After {len(read)} tokens, {quoted(token)} is the last that there was room for: nobody reads it."
        )
    elif way.run.generated:
        notice = (
            f"The chosen {quoted(token)} is put after what the decoder has read, and everything begins again "
            f"with row {way.position + 1}. While writing, keys and values of the earlier rows are kept and "
            "not computed again; the numbers are the same."
        )
    else:
        notice = (
            f"Teacher forcing: row {way.position + 1} reads the given {quoted(token)}, whatever the model "
            "would have chosen. So a mistake is not carried on, and in training all rows run at once."
        )
    code = calling(greedy, "new_tensor") if way.run.generated else assigning(running.force, "whole")
    return Stage(
        name="round",
        title="Round again",
        stack=None,
        block="tgt_embedding",
        operands=[
            Operand(words_of("read", read, numbered("position", len(read)), "tgt_embedding.read"), ALL),
            *(
                [Operand(words_of("token", [token], numbered("position", 1, len(read)), "chosen"), ALL, "+")]
                if follows
                else []
            ),
        ],
        result=words_of("next", after, numbered("position", len(after)), "tgt_embedding.next"),
        code=[code],
        notice=notice,
    )
