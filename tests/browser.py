"""Pages in a headless browser: the system's Chromium or Chrome, driven by Playwright, which downloads none itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from peers import peer

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS_TO_START = 60


def find_browser() -> str:
    """Return the path of a browser; skip the test where there is none."""
    found = os.environ.get("PODIUM_BROWSER") or next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed, and PODIUM_BROWSER names none")
    return found


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start a browser, and end it."""
    playwright = peer("playwright.sync_api")
    path = find_browser()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, timeout=1000 * SECONDS_TO_START)
        yield browser
        browser.close()


class Opened:
    """A page that a browser shows, with all that it complained of and fetched."""

    def __init__(self, browser: Any, file: Path, width: int = 1400, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.fetched: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.fetched.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements of a kind."""
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]

    def ask(self, script: str, *arguments: Any) -> Any:
        """Return what a script of the page answers."""
        return self.page.evaluate(script, *arguments)
