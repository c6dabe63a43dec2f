"""A page of a headless browser that runs onnxruntime-web."""

from __future__ import annotations

import base64
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, PluginError
from polycmp_web.library import program

if TYPE_CHECKING:
    from polycmp_web.library import Library
    from polycmp_web.plugin import Options

#: No server listens there: what the page asks for is answered below. A page of it may have threads and WebGPU.
_ORIGIN = "https://polycmp.localhost"
_PAGE = """<!doctype html><script type="module">
import * as ort from './dist/{library}'; import { answering } from './session.mjs';
const answer = answering(ort);
window.ask = async () => {
  const answered = await answer(new Uint8Array(await (await fetch('./request')).arrayBuffer()));
  const reader = new FileReader();
  await new Promise((done) => { reader.onload = done; reader.readAsDataURL(new Blob([answered])); });
  return reader.result.slice(reader.result.indexOf(',') + 1);
};
window.ready = true;
</script>"""
_TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}
#: Threads share memory in such pages alone.
_HEADERS = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
#: What each execution provider needs, in newer and older releases.
_FILES = {"wasm": ("ort.wasm.min.mjs", "ort.min.mjs"), "webgpu": ("ort.webgpu.min.mjs", "ort.all.min.mjs")}
#: A machine without a GPU has WebGPU by SwiftShader, which calculates on the processor.
_WEBGPU = ("--enable-unsafe-webgpu", "--enable-features=Vulkan", "--use-webgpu-adapter=swiftshader")
_MILLISECONDS = 60_000


class BrowserEngine:
    """Passes requests to a page and its answers back, in a thread of its own: Playwright allows one browser to each.

    Args:
        library: The onnxruntime-web to load.
        options: The browser, and the execution provider.
        whose: The label for errors.

    Raises:
        PluginError: Playwright or the browser is not installed.
        BackendError: The page does not load.
    """

    def __init__(self, library: Library, options: Options, whose: str) -> None:
        try:
            from playwright.sync_api import Error, sync_playwright
        except ImportError as error:
            raise PluginError(
                "needs Playwright to open a browser, which is not installed here", whose=whose, why=str(error),
                hint="pip install 'polycmp-web[browser]'",
            ) from error  # fmt: skip
        self._whose, self._error = whose, Error
        self._folder = library.folder
        self._page_text = _PAGE.replace("{library}", library.file(*_FILES[options.provider]).name)
        self._request = b""
        self._lines: list[str] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="polycmp-web")
        try:
            self._thread.submit(self._open, sync_playwright, options).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def _open(self, sync_playwright: Any, options: Options) -> None:
        self._playwright = sync_playwright().start()
        try:
            self._browser = self._launch(options)
            self._page = self._browser.new_page()
            self._page.set_default_timeout(_MILLISECONDS)
            self._page.on("console", lambda message: self._lines.append(message.text))
            self._page.on("pageerror", lambda error: self._lines.append(str(error)))
            self._page.route("**", self._answer)
            self._page.goto(f"{_ORIGIN}/")
            self._page.wait_for_function("window.ready")
        except self._error as error:
            self._close()
            raise self._failure("the page does not load", error) from error
        except BaseException:
            self._close()
            raise

    def ask(self, request: bytes) -> bytes:
        """Return the answer to a request.

        Raises:
            BackendError: The page, or the browser, ended.
        """
        return self._thread.submit(self._ask, request).result()

    def _ask(self, request: bytes) -> bytes:
        self._request = request
        try:
            return base64.b64decode(self._page.evaluate("window.ask()"))
        except self._error as error:
            raise self._failure("the page ended", error) from error
        finally:
            self._request = b""

    def close(self) -> None:
        """End the browser."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _close(self) -> None:
        with suppress(Exception):  # of a browser that is gone there is nothing to end
            self._browser.close()
        self._playwright.stop()

    def _launch(self, options: Options) -> Any:
        kind = getattr(self._playwright, options.browser)
        path = None if Path(kind.executable_path).exists() else self._installed(options.browser)
        words = ["--no-sandbox"] if options.browser == "chromium" and _is_root() else []
        words += _WEBGPU if options.provider == "webgpu" and options.browser == "chromium" else ()
        return kind.launch(executable_path=path, args=words)

    def _installed(self, browser: str) -> str:
        """Return the path of a Chromium of this machine: of the others Playwright drives builds of its own alone."""
        names = ("chromium", "chromium-browser", "google-chrome") if browser == "chromium" else ()
        for name in names:
            if (path := program(name)) is not None:
                return path
        raise PluginError(
            f"needs {browser}, which is not installed here", whose=self._whose, hint=f"playwright install {browser}"
        )

    def _answer(self, route: Any) -> None:
        """Answer what the page asks for: itself, our module, files of the library, or the request."""
        name = route.request.url.removeprefix(f"{_ORIGIN}/")
        if name == "request":
            route.fulfill(body=self._request, headers=_HEADERS)
        elif not name:
            route.fulfill(body=self._page_text, headers=_HEADERS, content_type="text/html")
        else:
            path = Path(__file__).with_name(name) if name == "session.mjs" else self._folder / name
            if path.suffix in _TYPES and path.is_file() and route.request.url.startswith(f"{_ORIGIN}/"):
                route.fulfill(body=path.read_bytes(), headers=_HEADERS, content_type=_TYPES[path.suffix])
            else:
                route.abort()

    def _failure(self, what: str, error: Exception) -> BackendError:
        told = next(iter(self._lines), "") or str(error)
        return BackendError(what, whose=self._whose, why=" ".join(told.split())[:400])


def _is_root() -> bool:
    """Return whether this process is root's, for which Chromium has no sandbox."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
