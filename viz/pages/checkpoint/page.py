"""Checkpoint: any model, opened safely: what it is, what it consists of, and what is wrong with it."""

import streamlit as st

from transformer.checkpoints.importing.families import families
from viz.pages.checkpoint.choose import choose, is_of_random
from viz.pages.checkpoint.doctor import doctor
from viz.pages.checkpoint.drawing import drawing
from viz.pages.checkpoint.report import keys, parameters, questions, settings, what_it_is, with_words
from viz.pages.shared.explain import prose
from viz.pages.shared.literal_text import literal
from viz.session import current_model

st.title("Checkpoint")
prose(
    "Open a Transformer that you or others have trained, and see it on every page like ours. A separate "
    "process reads its files and runs no code in them. A checkpoint stays open until you close it, or close "
    "or reload this page."
)
model = choose()
if model is None:
    layouts = [family.label for family in families() if family.renames]
    st.caption(
        "Headlight opens its own folders, weights from torch.nn.Transformer and from well-known tutorials, "
        "toolkits' checkpoints, and Hugging Face's folders with their tokenizers. Any other layout opens "
        "with a few lines that say which tensor is which."
    )
    with st.expander(f"The {len(layouts)} known layouts"):
        literal(", ".join(layouts))
    if is_of_random():
        st.header("Architecture")
        drawing(current_model().model.config)
else:
    imported = model.imported
    st.header("Summary")
    what_it_is(imported)
    with_words(model.name, imported)
    questions(model)
    st.header("Architecture")
    drawing(imported.report.config)
    st.header("The doctor's report")
    doctor(model.name, imported)
    st.header("Parts, settings and names")
    in_parts, in_settings, in_names = st.tabs(["Parameters by part", "Settings", "Names that did not fit"])
    with in_parts:
        parameters(imported)
    with in_settings:
        settings(imported)
    with in_names:
        keys(imported)
