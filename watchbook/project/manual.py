"""`watchbook docs`: the documentation of this version, from the package, as pages in the browser or as text."""

from __future__ import annotations

import html
import re
import shutil
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import click

from watchbook import __version__
from watchbook.base.terminal import Failure

PACKAGE = Path(__file__).resolve().parents[1]
# In a package the docs lie inside it; in the source tree, beside it.
ROOT = PACKAGE / "manual" if (PACKAGE / "manual").is_dir() else PACKAGE.parent
LANGUAGES = {"en": ".md", "zh": ".zh.md"}
LINK = re.compile(r'(href|src)="([^"#:]+)(#[^"]*)?"')
STYLE = """
body { font: 16px/1.6 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
pre, code { font: 14px/1.5 ui-monospace, monospace; background: #8881; border-radius: 4px; }
pre { padding: .75rem; overflow-x: auto; } code { padding: 0 .2em; } pre code { padding: 0; background: none; }
table { border-collapse: collapse; display: block; overflow-x: auto; } img { max-width: 100%; }
td, th { border: 1px solid #8884; padding: .3rem .6rem; text-align: left; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { background: #181a1b; color: #ddd; } a { color: #8ab4f8; } }
"""


@click.command()
@click.argument("page", default="index")
@click.option("--lang", type=click.Choice(sorted(LANGUAGES)), default="en", help="Language of the page.")
@click.option("--text", "as_text", is_flag=True, help="Print the page as text instead.")
@click.option("--no-browser", is_flag=True, help="Only print the address of the page.")
def docs(page: str, lang: str, as_text: bool, no_browser: bool) -> None:
    """Open the documentation of this version in the browser. PAGE is a name such as how-to/backup."""
    from django.conf import settings  # after Django is set up

    source = find(page, lang)
    if as_text:
        click.echo(source.read_text(encoding="utf-8"))
        return
    folder = Path(settings.HOME) / "manual"
    write_pages(folder)
    shown = folder / source.relative_to(ROOT).with_suffix(".html")
    click.echo(shown.as_uri())
    if not no_browser and not webbrowser.open(shown.as_uri()):
        click.echo("No browser was found. Open the address, or use --text.", err=True)


def find(page: str, lang: str) -> Path:
    """Return the page in this language, or in English where there is no translation."""
    known = sorted({_name(path) for path in sources()})
    name = page.removesuffix(".md").strip("/")
    if name not in known:
        raise Failure(f"There is no page {page}. Pages: {', '.join(known)}.", "unknown_page")
    if name == "changelog":
        return ROOT / "CHANGELOG.md"
    translated = ROOT / "docs" / f"{name}{LANGUAGES[lang]}"
    return translated if translated.exists() else ROOT / "docs" / f"{name}.md"


def sources() -> Iterator[Path]:
    yield ROOT / "CHANGELOG.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def _name(path: Path) -> str:
    if path.parent == ROOT:
        return "changelog"
    return path.relative_to(ROOT / "docs").as_posix().removesuffix(".md").removesuffix(".zh")


def write_pages(folder: Path) -> None:
    """Write every page as HTML; pages of an earlier version go away."""
    from markdown_it import MarkdownIt  # only where pages are written

    shutil.rmtree(folder, ignore_errors=True)
    reader = MarkdownIt("commonmark").enable("table")
    for path in sources():
        target = folder / path.relative_to(ROOT).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = path.read_text(encoding="utf-8")
        title = html.escape(text.partition("\n")[0].lstrip("# "))
        body = LINK.sub(lambda found, here=path: _link(found, here), reader.render(text))  # type: ignore[misc]
        target.write_text(
            f'<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{title} · Watchbook {__version__}</title><style>{STYLE}</style>{body}",
            encoding="utf-8",
        )
    shutil.copytree(ROOT / "docs" / "pictures", folder / "docs" / "pictures")


def _link(found: re.Match[str], page: Path) -> str:
    """Links between pages lead to the HTML pages; a link into the source code is only text here."""
    kind, address, part = found[1], found[2], found[3] or ""
    target = (page.parent / address).resolve()
    if target in set(sources()):
        return f'{kind}="{address.removesuffix(".md")}.html{part}"'
    return found[0] if target.suffix in {".png", ".svg"} else ""
