"""Measurements of a page in headless Chromium."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
IN_CI = "CI" in os.environ  # where a test that is skipped would be missed
CHROMIUM = shutil.which("chromium")

if IN_CI:
    from playwright import sync_api
else:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

sync_api.expect.set_options(timeout=60_000)  # milliseconds; a busy machine takes longer than the default of 5 s

_CONTRASTS = """() => {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const painted = (colours) => {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
    return context.getImageData(0, 0, 1, 1).data;
  };
  const known = new Map(); // a page has few colours, and reading a pixel takes longer than all else
  const luminance = (colours) => {
    const key = colours.join();
    if (!known.has(key)) {
      const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const [r, g, b] = [...painted(colours).slice(0, 3)].map(part);
      known.set(key, 0.2126 * r + 0.7152 * g + 0.0722 * b);
    }
    return known.get(key);
  };
  const field = document.querySelector("textarea");
  const found = {};
  for (const element of document.querySelectorAll("body *")) {
    const isDrawn = element.matches("[id^=text_] > g"); // of matplotlib, which draws letters as paths
    const isFilled = isDrawn || element.matches("svg text");
    const hasText = element === field || isDrawn ||
      [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    const isSeen = element.checkVisibility() && !element.disabled;
    if (!hasText || !isSeen || element.closest(".unseen, select, noscript, style, script")) continue;
    const grounds = [];
    for (let e = element; e; e = e.parentElement) grounds.unshift(getComputedStyle(e).backgroundColor);
    const behind = element.closest("#mirror") ? field : element; // its text is that of the field above it
    const inks = [getComputedStyle(behind)[isFilled ? "fill" : "color"]];
    if (element === field) inks.push(getComputedStyle(field, "::placeholder").color);
    for (const ink of inks) {
      const [a, b] = [grounds, [...grounds, ink]].map(luminance).sort();
      const id = element.id || element.getAttribute("class") || element.parentElement.id;
      const name = `${element.tagName} ${id} ${element.textContent.slice(0, 30)} ${ink}`;
      found[name] = (b + 0.05) / (a + 0.05);
    }
  }
  return found;
}"""

_HAS_THEME = """(theme) => {
  const [, ...channels] = /rgb\\((.+), (.+), (.+)\\)/.exec(getComputedStyle(document.body).backgroundColor);
  return (Math.max(...channels) < 60) === (theme === "dark");
}"""

_UNNAMED = """() => [...document.querySelectorAll("button, select, input, textarea, a, [role=textbox]")]
  .filter((e) => ![e.ariaLabel, e.textContent.trim(), ...[...(e.labels ?? [])].map((l) => l.textContent)].some(Boolean))
  .map((e) => e.outerHTML)"""


@contextmanager
def chromium() -> Iterator["sync_api.Browser"]:
    """Run Chromium while the block runs."""
    if CHROMIUM is None:
        (pytest.fail if IN_CI else pytest.skip)("needs the program chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def contrasts(page: "sync_api.Page") -> dict[str, float]:
    """Return the contrast (WCAG 2) of each visible text, including the placeholder of the text field."""
    found: dict[str, float] = page.evaluate(_CONTRASTS)
    return found


def too_faint(page: "sync_api.Page", least: int) -> dict[str, float]:
    """Return the texts whose contrast is below 4.5; there must be more than `least` texts."""
    found = contrasts(page)
    assert len(found) > least
    return {name: value for name, value in found.items() if value < 4.5}


def faint_in_a_theme(page: "sync_api.Page", least: int) -> dict[str, float]:
    """Return the texts that are too faint in the light or in the dark theme, whose grounds must be light and dark."""
    found = dict[str, float]()
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(_HAS_THEME, arg=theme)
        found |= too_faint(page, least)
    return found


def unnamed(page: "sync_api.Page") -> list[str]:
    """Return the controls without a name for screen readers."""
    found: list[str] = page.evaluate(_UNNAMED)
    return found


def scrolls_sideways(page: "sync_api.Page") -> bool:
    """Return True if the page is wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))
