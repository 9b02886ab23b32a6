"""Headlight: see what happens inside a Transformer. Start it with `make run`."""

import streamlit as st

from viz.pages._sidebar import sidebar
from viz.pages._style import page_style
from viz.pages._training_note import training_note
from viz.text_session import texts_from_address

st.set_page_config(page_title="Headlight", page_icon="assets/icon.png", layout="wide")

page = st.navigation(
    [
        st.Page("viz/pages/explore.py", title="Explore", url_path="explore", default=True),
        st.Page("viz/pages/decode.py", title="Decode", url_path="decode"),
        st.Page("viz/pages/training.py", title="Training", url_path="training"),
        st.Page("viz/pages/positions.py", title="Positions", url_path="positions"),
        st.Page("viz/pages/masks.py", title="Masks", url_path="masks"),
        st.Page("viz/pages/layer_norm.py", title="Layer norm", url_path="layer-norm"),
        st.Page("viz/pages/checkpoint.py", title="Checkpoint", url_path="checkpoint"),
    ]
)
texts_from_address()
page_style()
sidebar()
training_note()
page.run()
