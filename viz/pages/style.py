"""Styles of Streamlit's elements that its theme can't set. All CSS here is our own."""

from __future__ import annotations

import streamlit as st

from viz.session import current_theme

STYLE = """
<style>
/* A formula too wide even for small type scrolls: a shade at an edge shows that it continues.
   Backgrounds that scroll with the formula cover the shade at its ends. */
.katex-display {{
  padding-right: 4px;  /* or each formula of several lines would scroll, by 2 px */
  background:
    linear-gradient(90deg, {ground} 40%, #0000) left / 60px 100% no-repeat local,
    linear-gradient(270deg, {ground} 40%, #0000) right / 60px 100% no-repeat local,
    linear-gradient(90deg, {shade}, #0000) left / 14px 100% no-repeat scroll,
    linear-gradient(270deg, {shade}, #0000) right / 14px 100% no-repeat scroll;
}}
/* The first screen is for the pictures: a smaller title, less space above it, the examples in one row. */
[data-testid="stMainBlockContainer"] {{ padding-top: 1.6rem; }}
/* Here the header covers the top of the page. */
@media (max-width: 767px) {{ [data-testid="stMainBlockContainer"] {{ padding-top: 4rem; }} }}
[data-testid="stMainBlockContainer"] h1 {{ font-size: 1.9rem; padding: 0.2rem 0; }}
.st-key-example [data-testid="stButtonGroup"] > div {{ flex-wrap: nowrap; overflow-x: auto; }}
.st-key-example button {{ white-space: nowrap; flex: none; }}
.st-key-output [data-testid="stText"] {{ max-height: 8rem; overflow-y: auto; }}
.st-key-output [data-testid="stText"] * {{ font-size: 1.3rem; font-weight: 600; }}
/* The menu of a page's sections stays in view, in one row. */
[data-testid="stLayoutWrapper"]:has(> .st-key-section_menu) {{
  position: sticky; top: 0; z-index: 10; padding: 0.5rem 0; background: {ground};
}}
.st-key-section_menu [data-testid="stButtonGroup"] > div {{ flex-wrap: nowrap; overflow-x: auto; }}
.st-key-section_menu button {{ white-space: nowrap; flex: none; }}
@media (max-width: 767px) {{
  .st-key-sections {{ scroll-margin-top: 3.75rem; }}
  [data-testid="stLayoutWrapper"]:has(> .st-key-section_menu) {{ top: 3.75rem; }}
}}
/* A figure with words in its cells scrolls on a phone, where they would be turned by 90°. */
[class*="st-key-wide_"] [data-testid="stElementContainer"]:has([data-testid="stPlotlyChart"]) {{
  overflow-x: auto;
}}
@media (max-width: 1100px) {{
  [class*="st-key-wide_"] [data-testid="stFullScreenFrame"] {{ min-width: 56rem; }}
}}
/* In the dark theme the accent colour is pale, and Streamlit's text on it is white. */
[data-testid="stMultiSelectTagsContainer"] span[role="group"] *,
[data-testid="stBaseButton-primary"]:not(:disabled) {{ color: {ground}; }}
/* A button submits the answer. */
.st-key-lesson_step [data-testid="InputInstructions"] {{ display: none; }}
/* A linked term and its explanation. */
a[href^="#lesson-"] {{
  color: inherit !important; text-decoration: underline dotted {accent} 2px !important;
}}
.hl-term {{
  position: fixed; inset: auto; margin: 0; box-sizing: border-box; max-width: min(24rem, calc(100vw - 16px));
  padding: 0.6rem 0.8rem; border: 1px solid {muted}; border-radius: 6px;
  background: {surface}; color: {text}; font-size: 0.9rem; line-height: 1.4;
}}
.hl-term-more {{ margin-top: 0.3rem; color: {muted}; font-size: 0.8rem; }}
/* Streamlit's colours of code are too pale on a light ground. */
.stCode .token:is(.keyword, .boolean, .function, .class-name, .decorator, .builtin) {{ color: {accent}; }}
.stCode .token.string {{ color: {warning}; }}
.stCode .token:is(.comment, .triple-quoted-string) {{ color: {muted}; }}
.stCode .token.number {{ color: {text}; }}
</style>
"""


def page_style() -> None:
    """Add the styles to the page, in the colours of its theme; draws nothing visible."""
    theme = current_theme()
    colors = {name: getattr(theme, name) for name in ("accent", "warning", "muted", "surface", "text")}
    st.html(STYLE.format(ground=theme.background, shade=theme.muted + "66", **colors))
