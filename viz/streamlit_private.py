"""The private parts of Streamlit that Headlight uses: for addresses, messages, uploads, sessions and charts.

Any release of Streamlit may change them; `tests/viz/test_streamlit_private.py` fails when one does.
"""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from weakref import WeakSet

import streamlit
from starlette.formparsers import MultiPartParser
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.caching.ttl_cache import TTLCache
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.session_manager import SessionInfo


@cache
def send_every_message() -> None:
    """Have the run of a fragment drop no message that is still to be sent; to be called once per server.

    Streamlit drops the fragment's own messages and keeps those of fragments inside it. If the page had just
    been drawn, the browser then gets parts of containers that it never got: it throws, and the page is blank.
    """
    clear = ForwardMsgQueue.clear

    def clear_for_pages(
        queue: ForwardMsgQueue,
        retain_lifecycle_msgs: bool = False,
        fragment_ids_this_run: list[str] | None = None,
    ) -> None:
        if fragment_ids_this_run is None:
            clear(queue, retain_lifecycle_msgs)
        else:
            queue._delta_index_map = {}  # later messages replace none of an earlier run

    ForwardMsgQueue.clear = clear_for_pages  # type: ignore[method-assign, assignment]


@cache
def ignore_requests_of_left_pages() -> None:
    """Ignore what a fragment of a page asks for once a link has left that page; to be called once per server.

    Streamlit would run it as a part of its page, or take that page for the one that the link asked for. The
    browser, which shows the next page, then clears it, and throws when a part of it is drawn.
    """
    request_rerun = AppSession.request_rerun
    on_named_pages = WeakSet[AppSession]()
    """Sessions whose browser named the page; on a first visit it names an address, resolved later."""

    def request_on_current_page(session: AppSession, request: ClientState | None) -> None:
        page = session._client_state
        if request is not None and request.fragment_id:
            if session in on_named_pages and request.page_script_hash != page.page_script_hash:
                return
        elif request is not None and request.page_script_hash:
            page.page_script_hash = request.page_script_hash
            on_named_pages.add(session)
        request_rerun(session, request)

    AppSession.request_rerun = request_on_current_page  # type: ignore[method-assign, assignment]


@cache
def receive_uploads_in_memory() -> None:
    """Have uploads pass through no file on the way into memory; to be called once per server.

    On a full disk they would fail, with a traceback on the terminal and no reason on the page.
    """
    MultiPartParser.spool_max_size = 2**40  # the upload's own limit is far below


@cache
def forget_left_sessions() -> None:
    """Forget what visitors had on their pages once they can't come back to it; to be called once per server.

    Streamlit does so only when the next visitor leaves: what the last ones had would stay in memory.
    """
    save = MemorySessionStorage.save

    def save_for_a_while(storage: MemorySessionStorage, session: SessionInfo) -> None:
        save(storage, session)
        kept = storage._cache
        assert isinstance(kept, TTLCache)
        asyncio.get_running_loop().call_later(kept.ttl + 1, kept.expire)

    MemorySessionStorage.save = save_for_a_while  # type: ignore[method-assign, assignment]


@cache
def chart_script() -> str:
    """The name of Streamlit's script for charts, next to its main one; "" if there is no such file."""
    scripts = Path(streamlit.__file__).parent / "static" / "static" / "js"
    return next((path.name for path in scripts.glob("PlotlyChart.*.js")), "")


def is_history_step() -> bool:
    """True when the browser's Back or Forward asked for this run of the page."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def restore_query_params() -> None:
    """Set every picker to its value in the address; to be called before any is drawn.

    Streamlit drops an entry that was bound to a picker of the same name on the previous page.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    with context.session_state.query_params() as params:
        params.populate_from_query_string(context.query_string)
        params.set_initial_query_params_from_current()
        params._send_query_param_msg()


def is_bound(name: str) -> bool:
    """True if a picker has this name in the address, so that nothing else may write it."""
    context = get_script_run_ctx()
    if context is None:
        return False
    with context.session_state.query_params() as params:
        return params.is_bound(name)
