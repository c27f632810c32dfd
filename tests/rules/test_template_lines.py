"""Templates are read by people: one element a line, no line wider than the screen."""

from __future__ import annotations

from pathlib import Path

import watchbook

PACKAGE = Path(watchbook.__file__).parent
WIDEST = 120


def wide_lines(folder: Path) -> list[str]:
    """Return place and width of every line of a template under the folder that is too wide."""
    return [
        f"{path.relative_to(folder)}:{number}: {len(line)}"
        for path in sorted(folder.rglob("templates/**/*.html"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > WIDEST
    ]


def test_template_lines_have_at_most_120_characters() -> None:
    assert wide_lines(PACKAGE) == []


def test_wide_line_of_a_template_is_found(tmp_path: Path) -> None:
    page = tmp_path / "desk" / "templates" / "desk" / "page.html"
    page.parent.mkdir(parents=True)
    page.write_text(f"<p>short</p>\n<p>{'x' * WIDEST}</p>\n", "utf-8")
    assert wide_lines(tmp_path) == ["desk/templates/desk/page.html:2: 127"]
