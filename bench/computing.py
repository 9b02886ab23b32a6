"""What Python does between a sentence and the browser, without a browser."""

from __future__ import annotations

from dataclasses import dataclass

from bench.measurement import seconds
from bench.sentences import random_model, sentence
from transformer.analysis.attention_maps import attention_maps
from transformer.run import run_sentence
from viz.figures.attention import attention_heatmap
from viz.theme import palette
from viz.viewer.choice import first_choice
from viz.viewer.frames import first_pieces, run_frame, update_frame
from viz.viewer.held_run import hold


@dataclass(frozen=True)
class Computing:
    """Seconds, each the median of some runs.

    Attributes:
        tokens: length of the source and of the target, which is given (teacher forcing).
        d_model: width of the model.
        trace: from the typed sentence to every recorded number.
        viewer: from the trace to the bytes that the viewer of all attention begins with.
        viewer_bytes: how many those are.
        figure: from the trace to the plotly figure of one head, as the JSON that is sent.
        figure_bytes: how many those are.
    """

    tokens: int
    d_model: int
    trace: float
    viewer: float
    viewer_bytes: int
    figure: float
    figure_bytes: int


def measure_computing(n_tokens: int, d_model: int) -> Computing:
    """Measure one length in one model."""
    loaded = random_model(d_model)
    source, target = sentence(n_tokens, 1), sentence(n_tokens, 2)
    run = run_sentence(loaded, source, target)
    words = run.trace.src_tokens[0]

    def viewer() -> tuple[bytes, bytes]:
        held = hold(run, loaded)
        choice = first_choice(held)
        return run_frame(held, palette("light")), update_frame(held, choice, first_pieces(held, choice))

    def figure() -> str:
        values = attention_maps(run.trace, "encoder", "weights").values[0, 0]
        return str(
            attention_heatmap(values, query_tokens=words, key_tokens=words, theme=palette("light")).to_json()
        )

    return Computing(
        tokens=n_tokens,
        d_model=d_model,
        trace=seconds(lambda: run_sentence(loaded, source, target)),
        viewer=seconds(viewer),
        viewer_bytes=sum(map(len, viewer())),
        figure=seconds(figure),
        figure_bytes=len(figure().encode()),
    )
