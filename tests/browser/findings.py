"""What is looked at on any page: width, labels, headings, contrast, words of the wrong language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.fill import NAMES
from tests.i18n import catalogues
from watchbook.base.testing.environment import NIGHTLY

# Every night at the width of most phones, too.
WIDTHS = (320, 390, 1280) if NIGHTLY else (320, 1280)
# Languages and themes in which the pages of a system are looked at after their story.
SETTINGS = (("zh-CN", "light"), ("en-GB", "dark")) if NIGHTLY else (("zh-CN", "light"),)
# WCAG 2.2 AA; the browser rounds what it blends, so a hair below is still a pass.
LEAST_CONTRAST, LEAST_CONTRAST_LARGE = 4.5, 3.0

UNLABELLED = """() => {
  const shown = (node) => node.checkVisibility({ visibilityProperty: true });
  const pictured = (node) => [...node.querySelectorAll("img[alt]")].some((picture) => picture.alt.trim());
  const named = (node) => (node.labels && [...node.labels].some((label) => label.textContent.trim()))
    || node.getAttribute("aria-label")?.trim() || node.getAttribute("aria-labelledby")
    || (node.matches("button, a, summary") && (node.textContent.trim() || node.title || pictured(node)));
  return [...document.querySelectorAll("input:not([type=hidden]), select, textarea, button, summary, a[href]")]
    .filter((node) => shown(node) && !named(node)).map((node) => node.outerHTML.slice(0, 200));
}"""

HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4")].filter((node) => node.checkVisibility())
  .map((node) => Number(node.localName[1]))"""

# Colours are drawn onto a canvas, because a computed style may be in any notation.
PALE = """([least, leastLarge]) => {
  const paint = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const over = (colours) => {
    paint.clearRect(0, 0, 1, 1);
    for (const colour of colours) { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); }
    return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const known = new Map();
  const ratio = (ink, grounds) => {
    const key = [ink, ...grounds].join("|");
    if (!known.has(key)) {
      const [a, b] = [light(over([...grounds, ink])), light(over(grounds))];
      known.set(key, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
    }
    return known.get(key);
  };
  const found = new Map();
  for (const node of document.querySelectorAll("body *")) {
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
    if (!node.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (node.closest("svg, .sr, [disabled], [aria-disabled=true], option")) continue;
    const style = getComputedStyle(node);
    const grounds = [];
    for (let up = node; up; up = up.parentElement) grounds.unshift(getComputedStyle(up).backgroundColor);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const value = ratio(style.color, ["white", ...grounds]);
    if (value + 0.02 < (large ? leastLarge : least)) {
      const who = `${node.localName}.${node.className} ${style.color}`;
      if (!found.has(who)) found.set(who, `${value.toFixed(2)} ${who} ${node.textContent.trim().slice(0, 40)}`);
    }
  }
  return [...found.values()];
}"""

# Texts that are ours: not what people typed, what a source wrote, or what a program is called.
OWN_TEXTS = """() => {
  const data = "code, kbd, pre, .mono, .url, time, [lang=en], .brand, svg title, .page-foot, [data-text=source]";
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = new Set();
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest(data) || parent.closest("script, style, option")) continue;
    texts.add(node.data.trim().replace(/\\s+/g, " "));
  }
  for (const node of document.querySelectorAll("[aria-label], [placeholder], [title]"))
    if (!node.closest("code, .mono, .url, time, option, [lang=en]"))
      for (const name of ["aria-label", "placeholder", "title"])
        if (node.hasAttribute(name)) texts.add(node.getAttribute(name).trim());
  return [...texts];
}"""

_LATIN = re.compile(r"[A-Za-z][A-Za-z'’]+")
_HOLE = re.compile(r"%\(\w+\)[sd]|%[sd]")


def sideways(page: Page) -> Iterator[str]:
    height = (page.viewport_size or {"height": 900})["height"]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": height})
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wider > 0:
            yield f"scrolls sideways by {wider} px at {width} px"


def unlabelled(page: Page) -> Iterator[str]:
    for markup in page.evaluate(UNLABELLED):
        yield f"has no label: {markup}"


def odd_headings(page: Page) -> Iterator[str]:
    levels: list[int] = page.evaluate(HEADINGS)
    if levels.count(1) != 1:
        yield f"has {levels.count(1)} main headings"
    if any(after > before + 1 for before, after in pairwise(levels)):
        yield f"skips a level of headings: {levels}"


def pale(page: Page) -> Iterator[str]:
    for text in page.evaluate(PALE, [LEAST_CONTRAST, LEAST_CONTRAST_LARGE]):
        yield f"is too pale: {text}"


def axe(page: Page) -> Iterator[str]:
    """Yield what axe-core calls a violation, one line for each element."""
    for rule in Axe().run(page).response["violations"]:
        for node in rule["nodes"]:
            yield f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary'][:300]}"


def whole(page: Page, language: str) -> list[str]:
    """Everything that is wrong with a page; in Chinese also what is left in English."""
    looks = [sideways, pale, odd_headings, unlabelled, *([untranslated] if language == "zh-CN" else [])]
    return [found for look in looks for found in look(page)]


def untranslated(page: Page) -> Iterator[str]:
    """On a Chinese page: texts that the catalogues have a Chinese word for. What is told of a monitor is data:
    it is written once, in the language of its owner."""
    for text in page.evaluate(OWN_TEXTS):
        if _has_chinese(text) and not any(name in text for name in NAMES.values()):
            yield f"is not translated: {text[:120]}"


@cache
def _has_chinese(text: str) -> bool:
    return text in _plain_ids() or any(pattern.fullmatch(text) for pattern in _id_patterns())


def english_left(page: Page) -> Iterator[str]:
    """On a Chinese page: everything with English words, data among it. For people to look through."""
    yield from (text for text in page.evaluate(OWN_TEXTS) if _LATIN.search(text))


@cache
def _entries() -> dict[tuple[str, str], tuple[str, ...]]:
    """Singular and plural English, and the Chinese of every translated entry that has a Latin word."""
    found = [message for path in catalogues.paths() for message in catalogues.messages(path)]
    entries = {}
    for message in filter(catalogues.is_translated, found):
        single = catalogues.key_of(message).rpartition("\x04")[2]
        if _LATIN.search(single):
            entries[single, catalogues.plural_of(message) or ""] = catalogues.texts_of(message)
    return entries


@cache
def _plain_ids() -> frozenset[str]:
    same = {single for (single, _plural), texts in _entries().items() if single in texts}
    return frozenset({single for single, _plural in _entries() if not _HOLE.search(single)} - same)


@cache
def _id_patterns() -> tuple[re.Pattern[str], ...]:
    """Texts with something filled in; those that are little more than what is filled in would match anything."""
    texts = [text for pair in _entries() for text in pair if _HOLE.search(text)]
    wordy = [text for text in texts if len(_LATIN.findall(_HOLE.sub(" ", text))) > 1 and "<" not in text]
    return tuple(re.compile(".+?".join(map(re.escape, _HOLE.split(text))), re.DOTALL) for text in wordy)
