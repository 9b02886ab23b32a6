"""The Chromium that draws images: started before it is needed, shared, and closed when it is unused.

Starting it takes ten times as long as drawing an image.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")
IDLE_SECONDS = 120.0
"""Time without an image after which the browser is closed: it takes 150 MB of memory."""
DRAWING_SECONDS = 90.0
"""A browser that draws for longer than this is closed."""
CLOSING_SECONDS = 10.0
"""Limit for closing it when the process ends."""


class ImageBrowser:
    """A browser on a thread of its own, which draws one image at a time; thread-safe.

    Its only page is reloaded after each image, so that nothing of one figure reaches the next.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        """Start nothing yet; `idle_seconds` without an image close the browser."""
        self._idle_seconds = idle_seconds
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        self._browser: Any = None
        self._path = ""
        self._closing: asyncio.TimerHandle | None = None

    def start(self, path: str) -> None:
        """Begin to start the browser at this path, unless it runs; return at once, and report no failure."""
        self._submit(self._warm(path))

    def draw(self, path: str, figure: Mapping[str, Any], settings: Mapping[str, Any]) -> bytes:
        """Draw a figure with the browser at this path.

        Args:
            path: a Chromium or Chrome.
            figure: as plotly's `Figure.to_dict` returns it.
            settings: kaleido's format, scale, width and height.

        Raises:
            kaleido.errors.BrowserFailedError, kaleido.errors.BrowserClosedError: the browser did not start,
                or ended.
        """
        return self._submit(self._draw(path, figure, settings)).result()

    def close(self) -> None:
        """Close the browser; the next image restarts it."""
        self._submit(self._close()).result(CLOSING_SECONDS)

    def _submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="image browser", daemon=True).start()
                atexit.register(self.close)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _warm(self, path: str) -> None:
        async with self._turn:
            await self._open(path)
            self._close_later()

    async def _draw(self, path: str, figure: Mapping[str, Any], settings: Mapping[str, Any]) -> bytes:
        from kaleido.errors import BrowserClosedError

        async with self._turn:
            await self._open(path)
            drawing = asyncio.ensure_future(self._browser.calc_fig(figure, opts=settings))
            await asyncio.wait({drawing}, timeout=DRAWING_SECONDS)
            has_answered = drawing.done() and not drawing.cancelled()
            if has_answered and drawing.exception() is None:
                self._close_later()
                return bytes(drawing.result())
            has_ended = not has_answered or self._browser.subprocess.poll() is not None
            if not drawing.done():
                drawing.cancel()
                self._browser.subprocess.kill()  # it would not answer the request to close either
            await self._stop()
        if has_ended:
            raise BrowserClosedError("The browser ended or stopped answering.")
        return bytes(drawing.result())  # raises its error

    async def _open(self, path: str) -> None:
        """Start the browser, unless it runs already."""
        if self._browser is not None:
            if self._path == path and self._browser.subprocess.poll() is None:
                return
            await self._stop()
        import kaleido
        from kaleido.errors import BrowserClosedError

        # By default, kaleido's page would load MathJax from a CDN.
        browser = kaleido.Kaleido(n=1, mathjax=False, path=path)
        try:
            await browser.open()
        except BaseException as error:
            # A browser that has ended may have closed its pipe, before or after it is told to close.
            with suppress(OSError):
                await browser.close()
            if isinstance(error, OSError):
                raise BrowserClosedError("The browser ended while it started.") from error
            raise
        self._browser, self._path = browser, path

    async def _close(self) -> None:
        async with self._turn:
            await self._stop()

    async def _stop(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            await browser.close()

    def _close_later(self) -> None:
        """Close the browser unless it draws another image in time."""
        assert self._loop is not None
        if self._closing is not None:
            self._closing.cancel()
        self._closing = self._loop.call_later(self._idle_seconds, self._submit_close)

    def _submit_close(self) -> None:
        self._submit(self._close())
