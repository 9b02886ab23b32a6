"""What Python does between a sentence and the browser, without a browser."""

from __future__ import annotations

from dataclasses import dataclass

from bench.measurement import Bytes, Seconds, median_seconds, seconds_in_turn
from bench.sentences import D_MODELS, LENGTHS, random_model, sentence
from bench.setting import Setting
from transformer.analysis.attention_maps import attention_maps
from transformer.run import run_sentence
from viz.figures.attention import attention_heatmap
from viz.theme import palette
from viz.viewer.choice import default_choice
from viz.viewer.frames import first_pieces, run_frame, update_frame
from viz.viewer.viewer_run import view_run


@dataclass(frozen=True)
class Computing:
    """Medians over several rounds for one sentence length in one model.

    Attributes:
        tokens: length of the source and of the target, which is given (teacher forcing).
        d_model: width of the model.
        sentence_to_trace: from the typed sentence to all recorded values.
        trace_to_viewer: from the trace to the first bytes that the viewer of all attention needs.
        viewer: number of those bytes.
        trace_to_figure: from the trace to the Plotly figure of one head, as JSON.
        figure: size of that JSON.
    """

    tokens: int
    d_model: int
    sentence_to_trace: Seconds
    trace_to_viewer: Seconds
    viewer: Bytes
    trace_to_figure: Seconds
    figure: Bytes


def measure(setting: Setting) -> list[Computing]:
    """Measure each length in each model."""
    if setting.smallest:
        return [measure_computing(16, 32, rounds=1)]
    return [measure_computing(n_tokens, d_model) for d_model in D_MODELS for n_tokens in LENGTHS]


def measure_computing(n_tokens: int, d_model: int, rounds: int = 4) -> Computing:
    """Measure one length in one model."""
    loaded = random_model(d_model)
    source, target = sentence(n_tokens, 1), sentence(n_tokens, 2)
    run = run_sentence(loaded, source, target)
    words = run.trace.src_tokens[0]

    def viewer() -> tuple[bytes, bytes]:
        held = view_run(run, loaded)
        choice = default_choice(held)
        return run_frame(held, palette("light")), update_frame(held, choice, first_pieces(held, choice))

    def figure() -> str:
        values = attention_maps(run.trace, "encoder", "weights").values[0, 0]
        return str(
            attention_heatmap(values, query_tokens=words, key_tokens=words, theme=palette("light")).to_json()
        )

    trace, times = seconds_in_turn(lambda: run_sentence(loaded, source, target), [viewer, figure], rounds)
    return Computing(
        tokens=n_tokens,
        d_model=d_model,
        sentence_to_trace=median_seconds(trace),
        trace_to_viewer=median_seconds(times[0]),
        viewer=Bytes(sum(map(len, viewer()))),
        trace_to_figure=median_seconds(times[1]),
        figure=Bytes(len(figure().encode())),
    )
