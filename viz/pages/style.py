"""Styles of Streamlit's elements that its theme can't set. All CSS here is our own."""

from __future__ import annotations

import streamlit as st

from viz.session import current_theme

COMPACT = """
.st-key-sentence_box [data-testid="stColumn"]:last-child [data-testid="stWidgetLabel"] { display: none; }
.st-key-example .stMarkdownColoredText { display: none; }
.st-key-introduction [data-testid="stCaptionContainer"] p { font-size: 0.75rem; line-height: 1.35; }
"""
"""Leaves out what a small screen, or one in large type, has no room for: labels that the contents explain."""
TINY = ", ".join(f'.heatmap-label text[style*="font-size: {size}px"]' for size in range(1, 10))
"""Numbers that plotly has shrunk to the size of their cell."""
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
/* The first screen is for the pictures: the product's name stands in the header, and titles are small. */
[data-testid="stMainBlockContainer"] {{ padding-top: 1.8rem; }}
[data-testid="stMainBlockContainer"] h1 {{ font-size: 1.6rem; padding: 0.1rem 0; }}
.st-key-introduction {{ flex-wrap: nowrap; align-items: baseline; }}
.st-key-introduction > :last-child {{ flex: 1 1 0; min-width: 0; }}
.st-key-introduction [data-testid="stCaptionContainer"] p {{ font-size: 0.85rem; }}
[data-testid="stMain"] {{ position: relative; }}  /* the name scrolls with it, or would cover what scrolls */
.st-key-brand {{
  position: absolute; top: 0.45rem; z-index: 1000001; width: auto !important; white-space: nowrap;
}}
.st-key-brand a {{ padding: 0; background: none !important; }}
.st-key-brand a p {{ font-weight: 600; }}
.st-key-example button {{ max-width: 100%; min-height: 1.9rem; padding: 0.1rem 0.6rem; }}
.st-key-example button p {{ font-size: 0.82rem; }}
@media (max-width: 767px) {{
  [data-testid="stMainBlockContainer"] {{ padding-top: 3.6rem; }}
  .st-key-brand {{ top: 0.5rem; left: 3.6rem; flex-direction: column; gap: 0; }}
  .st-key-brand {{ align-items: start !important; }}
  .st-key-brand [data-testid="stCaptionContainer"] p {{ font-size: 0.75rem; line-height: 1.2; }}
  .st-key-sentence_box [data-testid="stHorizontalBlock"] {{ gap: 0.5rem; }}
}}
/* Buttons of one choice that fill several rows are apart, each with an edge all round. */
@media (max-width: 767px) {{
  {compact}
  [data-testid="stButtonGroup"] > div:has(> [data-variant="segmented_control"]) {{ gap: 0.25rem; }}
  div > [data-variant="segmented_control"] {{ border-radius: 0.5rem; margin: 0; }}
  [data-variant="segmented_control"][aria-checked="false"] {{ border-color: {muted}66 !important; }}
}}
@media (min-width: 768px) {{
  [data-testid="stMainBlockContainer"] {{ padding-left: 3rem; padding-right: 3rem; }}
}}
.st-key-output [data-testid="stText"] {{ max-height: 8rem; overflow-y: auto; }}
.st-key-output [data-testid="stText"] * {{ font-size: 1.3rem; font-weight: 600; }}
/* The menu of a page's sections stays in view, in one row. */
[data-testid="stLayoutWrapper"]:has(> .st-key-section_menu) {{
  position: sticky; top: 0; z-index: 10; padding: 0.5rem 0; background: {ground};
}}
.st-key-section_menu [data-testid="stButtonGroup"] > div {{ flex-wrap: nowrap; overflow-x: auto; }}
.st-key-section_menu button {{ white-space: nowrap; flex: none; }}
/* The chosen button tells section_menu.js, which brings it into view. */
.st-key-section_menu button[aria-checked="true"] {{ animation: hl-chosen 1ms; }}
@keyframes hl-chosen {{ from {{ outline-width: 0; }} }}
/* Too wide for the window it scrolls, and fades where it continues. */
@supports (animation-timeline: scroll()) {{
  .st-key-section_menu [data-testid="stButtonGroup"] > div {{
    animation: hl-continues linear both; animation-timeline: scroll(self inline);
  }}
}}
@keyframes hl-continues {{
  from {{ mask-image: linear-gradient(90deg, #000, #000 calc(100% - 3rem), #0000); }}
  15%, 85% {{ mask-image: linear-gradient(90deg, #0000, #000 3rem calc(100% - 3rem), #0000); }}
  to {{ mask-image: linear-gradient(90deg, #0000, #000 3rem); }}
}}
@media (max-width: 767px) {{
  .st-key-sections {{ scroll-margin-top: 3.75rem; }}
  [data-testid="stLayoutWrapper"]:has(> .st-key-section_menu) {{ top: 3.75rem; }}
}}
/* Numbers in cells that are too small to read are left out: hovering names them. */
{tiny} {{ display: none; }}
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
/* A step that is scrolled to begins below the edge of the window. */
.st-key-step {{ scroll-margin-top: 1rem; }}
@media (max-width: 767px) {{ .st-key-step {{ scroll-margin-top: 4.5rem; }} }}
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
    st.html(
        STYLE.format(compact=COMPACT, tiny=TINY, ground=theme.background, shade=theme.muted + "66", **colors)
    )
