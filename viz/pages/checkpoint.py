"""Checkpoint: anyone's model, opened safely: what it is, what it is made of, and what is wrong with it."""

import streamlit as st

from viz.pages._checkpoint_choose import choose
from viz.pages._checkpoint_doctor import doctor
from viz.pages._checkpoint_report import drawing, keys, parameters, questions, settings, what_it_is

st.title("Checkpoint")
st.markdown(
    "Open a Transformer that you or others have trained, and see it as you see ours. Its files are read by a "
    "process of its own that runs nothing of what is in them."
)
imported = choose()
if imported is None:
    st.caption(
        "Headlight opens its own folders, state dicts of torch.nn.Transformer, of the Annotated Transformer "
        "and of a widespread tutorial, and Hugging Face folders of Marian, BART, mBART, T5, BERT, "
        "DistilBERT, RoBERTa, GPT-2 and Llama-like models, with their tokenizers."
    )
else:
    st.header("What it is")
    what_it_is(imported)
    questions(imported)
    st.header("Architecture")
    drawing(imported)
    st.header("What the doctor says")
    doctor(imported)
    st.header("Every part and setting")
    st.subheader("Parameters by part")
    parameters(imported)
    st.subheader("Settings, and where each came from")
    settings(imported)
    st.subheader("Names that did not fit")
    keys(imported)
