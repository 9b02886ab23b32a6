"""The private parts of Streamlit that Headlight uses still work, tested on the real classes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from unittest.mock import Mock

import pytest
import streamlit as st
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartParser
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.scriptrunner import ScriptRunContext, add_script_run_ctx, get_script_run_ctx
from streamlit.runtime.state import SafeSessionState, SessionState

from viz import address
from viz.streamlit_private import (
    chart_script,
    forget_left_sessions,
    ignore_requests_of_left_pages,
    is_bound,
    is_history_step,
    receive_uploads_in_memory,
    send_every_message,
)

Result = TypeVar("Result")


@pytest.fixture
def sent() -> Iterator[list[ForwardMsg]]:
    """The messages to the browser of a run started by Back, with `layer=2` in the address."""
    messages: list[ForwardMsg] = []
    before = get_script_run_ctx(suppress_warning=True)
    context = ScriptRunContext(
        session_id="test",
        _enqueue=messages.append,
        query_string="layer=2",
        session_state=SafeSessionState(SessionState(), lambda: None),
        uploaded_file_mgr=Mock(),
        main_script_path="",
        user_info={},
        fragment_storage=MemoryFragmentStorage(),
        pages_manager=Mock(main_script_hash="app", current_page_script_hash="page"),
        is_history_navigation=True,
    )
    add_script_run_ctx(ctx=context)
    yield messages
    add_script_run_ctx(ctx=before)


def test_after_back_the_pickers_begin_with_the_address_and_the_browser_keeps_it(
    sent: list[ForwardMsg],
) -> None:
    assert is_history_step()
    assert "layer" not in st.query_params, "Streamlit has not taken it from the address yet"
    address.restore()
    assert st.query_params["layer"] == "2"
    assert sent[-1].page_info_changed.query_string == "layer=2"
    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as params:
        assert params.get_initial_value("layer") == "2", "from which a picker of this name begins"


def test_an_entry_that_a_picker_owns_is_known(sent: list[ForwardMsg]) -> None:
    context = get_script_run_ctx()
    assert context is not None
    address.restore()
    assert not is_bound("layer")
    with context.session_state.query_params() as params:
        params.bind_widget("layer", "widget", "int_value", "page")
    assert is_bound("layer")
    address.write("layer", "7", default="0")
    assert st.query_params["layer"] == "2", "nothing else may write it"


def text_at(index: int, fragment: str) -> ForwardMsg:
    """The message that puts a text into the fragment's place in the page."""
    message = ForwardMsg()
    message.metadata.delta_path.extend([0, 7, index])
    message.delta.fragment_id = fragment
    message.delta.new_element.markdown.body = f"{fragment} {index}"
    return message


def test_a_fragment_runs_again_before_the_page_is_sent_and_the_browser_still_gets_all_of_it() -> None:
    """Without the place at index 0, the browser would have none for index 1, which is a fragment inside."""
    send_every_message()
    queue = ForwardMsgQueue()
    page = [text_at(0, "outer"), text_at(1, "inner")]
    for message in page:
        queue.enqueue(message)
    AppSession._clear_queue(Mock(_browser_queue=queue), ["outer"])  # as it does when a run begins
    again = text_at(0, "outer")
    queue.enqueue(again)
    assert queue.flush() == [*page, again], "in order: the later text replaces the earlier one in the browser"


def test_a_run_of_the_whole_page_drops_what_is_not_sent_yet() -> None:
    send_every_message()
    queue = ForwardMsgQueue()
    queue.enqueue(text_at(0, "outer"))
    AppSession._clear_queue(Mock(_browser_queue=queue))
    assert queue.is_empty()


def pages_run(*requests: tuple[str, str]) -> list[str]:
    """The pages for which a session that gets these requests (page, fragment) starts a run."""
    ignore_requests_of_left_pages()
    session = Mock(_client_state=ClientState(), _scriptrunner=None)
    for page, fragment in requests:
        AppSession.request_rerun(session, ClientState(page_script_hash=page, fragment_id=fragment))
    return [call.args[0].page_script_hash for call in session._create_scriptrunner.call_args_list]


def test_a_fragment_of_a_page_that_a_link_has_left_is_not_run() -> None:
    assert pages_run(("a", ""), ("a", "clock"), ("b", ""), ("a", "clock")) == ["a", "a", "b"]
    assert pages_run(("a", ""), ("b", ""), ("b", "clock"), ("a", ""), ("a", "clock")) == [
        "a",
        "b",
        "b",
        "a",
        "a",
    ]


def test_on_a_first_visit_which_names_no_page_fragments_run() -> None:
    assert pages_run(("", ""), ("a", "clock")) == ["", "a"]


def test_the_script_for_charts_is_known_by_name() -> None:
    assert chart_script().endswith(".js")


def test_uploads_are_received_without_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Even when nothing can be written: there is no folder for temporary files."""
    receive_uploads_in_memory()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    content = bytes(3 * 1024 * 1024)
    body = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.pt"\r\n\r\n'
        + content
        + b"\r\n--x--\r\n"
    )

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    async def receive() -> bytes:
        form = await MultiPartParser(
            Headers({"content-type": "multipart/form-data; boundary=x"}), stream()
        ).parse()
        file = form["file"]
        assert isinstance(file, UploadFile)
        return await file.read()

    assert run_coroutine(receive()) == content


def test_what_the_last_visitor_had_is_forgotten_without_a_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_left_sessions()
    storage, now = MemorySessionStorage(ttl_seconds=120), [0.0]
    monkeypatch.setattr(storage._cache, "_timer", lambda: now[0])
    planned: list[tuple[float, Callable[[], object]]] = []

    async def leave() -> None:
        loop = asyncio.get_running_loop()
        with monkeypatch.context() as patch:
            patch.setattr(loop, "call_later", lambda seconds, call: planned.append((seconds, call)))
            storage.save(Mock(session=Mock(id="visitor")))

    run_coroutine(leave())
    assert storage.get("visitor") is not None
    ((now[0], forget),) = planned
    forget()
    assert not storage._cache._data  # type: ignore[attr-defined]


def run_coroutine(coroutine: Coroutine[None, None, Result]) -> Result:
    """Run it in a thread of its own: a browser test in this process leaves its event loop running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
