"""Pages in a real browser: Chromium without a window, driven by Playwright."""

import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opened import Opened

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser, or a reason why there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="no browser: pip install 'lantm[test]' brings playwright")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no browser: install chromium, or set CHROMIUM to one (.ci/run installs it)")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: pathlib.Path) -> Iterator[Callable[..., Opened]]:
    """Writes a page to disk and opens it from there; afterwards nothing was fetched, nothing went wrong."""
    opened: list[tuple[Opened, str]] = []
    contexts = []

    def open_it(text: str, dark: bool = False, drawn: str = ".cell", width: int = 1366) -> Opened:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 700}, color_scheme="dark" if dark else "light", offline=True
        )
        contexts.append(context)
        page = Opened(context.new_page())
        page.page.goto(path.as_uri())
        page.page.locator(drawn).first.wait_for()
        page.settle()
        opened.append((page, path.as_uri()))
        return page

    yield open_it
    for page, uri in opened:
        assert page.complaints == []
        assert page.requests == [uri], "nothing but the page itself was fetched"
    for context in contexts:
        context.close()
