"""Which heads matter over many sentences: the mean effect of each on the whole output, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from transformer.analysis.interventions.corpus import OutputEffects, corpus_effects
from transformer.analysis.interventions.heads import N_DRAWS, Ablation, Switch, head_places
from transformer.analysis.interventions.outcomes import OnProgress
from transformer.analysis.ranks import mean_interval
from transformer.run import Run
from viz.figures.numbers import number
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.model_words import kind_examples
from viz.pages.why.asked import Asked
from viz.pages.why.effects import reference_texts
from viz.pages.why.receipt import save_receipt_over_sentences
from viz.text_session import examples_of

MOST_SENTENCES = 200
"""Each takes a forward pass of all heads: a quarter of a second for en-it."""
LARGEST_FILE = 1
"""In MB."""
REPLACED: dict[Ablation, str] = {
    "mean": "its mean output over {where}",
    "resample": f"its output at random positions of {{where}} (the mean of {N_DRAWS} draws)",
    "zero": "zeros",
}
"""What takes the place of a head's output."""
_MEASURED = "why_measured"
"""Session key of what this user asked to measure last."""

Pairs = tuple[tuple[str, str], ...]


@st.fragment
def many_part(asked: Asked, how: Ablation, reference: Sequence[Run]) -> None:
    """Draw this part of the section; a choice in it redraws only this part."""
    st.subheader("And over many sentences?")
    prose(
        "One sentence may mislead. Here each head is switched off in every sentence, and the number is how "
        "much less probable the *whole output* becomes, with a 95 % interval over the sentences (bootstrap)."
    )
    pairs = _pairs(asked)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pressed = st.button(f"Measure on {len(pairs)} sentences", key="why_many", disabled=not pairs)
    wanted = (how, pairs)
    if pressed:
        st.session_state[_MEASURED] = wanted
    if st.session_state.get(_MEASURED) == wanted and pairs:
        _table(asked, how, reference, pairs)


def _pairs(asked: Asked) -> Pairs:
    """The sentences of an uploaded file, or the model's examples."""
    file = st.file_uploader(
        "Your own sentences, one per line; a tab and a translation may follow",
        type=["txt", "tsv"],
        max_upload_size=LARGEST_FILE,
        key="why_file",
    )
    if file is None:
        texts = list(examples_of(asked.sentence.choice.name)) or kind_examples(asked.loaded)
        return tuple((text, "") for text in texts)
    lines = file.getvalue().decode("utf-8-sig", errors="replace").splitlines()
    split = [line.split("\t") for line in lines if line.strip()]
    if len(split) > MOST_SENTENCES:
        st.caption(
            f"The first {MOST_SENTENCES} of {len(split):,} lines; `headlight why --pairs` reads as many as "
            "you say."
        )
    return tuple((line[0], line[1] if len(line) > 1 else "") for line in split[:MOST_SENTENCES])


def _table(asked: Asked, how: Ablation, reference: Sequence[Run], pairs: Pairs) -> None:
    def compute(report: OnProgress) -> OutputEffects:
        return corpus_effects(asked.loaded, pairs, Switch(asked.loaded, how, reference), report)

    effects = asked.answer(("many", how, pairs), "Switching off the heads in each sentence", compute).effects
    low, high = mean_interval(effects)
    table = pd.DataFrame(
        {
            "head": list(map(str, head_places(asked.loaded.model.config))),
            "mean": effects.mean(axis=0),
            "from": low,
            "to": high,
            "costs in": (effects > 0).sum(axis=0),
        }
    ).sort_values("mean", ascending=False)
    clear = int((table["from"] > 0).sum())
    st.markdown(
        f"**{table['head'].iloc[0]}** costs most. {clear} of {len(table)} heads cost something: their "
        f"interval over {len(pairs)} sentences lies above 0."
    )
    texts = (reference_texts(asked) or [asked.sentence.text]) if how != "zero" else []
    costs_in = st.column_config.NumberColumn(help="Sentences in which it costs something.")
    digits = dict.fromkeys(("mean", "from", "to"), partial(number, digits=4))
    st.dataframe(
        table.style.format(digits | {"costs in": f"{{}} of {len(pairs)}"}),
        key="why_many_table",
        hide_index=True,
        height=320,
        column_config={"costs in": costs_in},
    )
    where = f"{len(texts)} example sentences" if reference_texts(asked) else "the sentence asked about"
    st.caption(
        f"Each head's output was replaced by {REPLACED[how].format(where=where)}. In nats per token of the "
        "output, which is the model's own where no translation is given."
    )
    save_receipt_over_sentences(asked, how, pairs, texts)
    computed_by(corpus_effects)
