"""Compares two screenshots pixel by pixel, in the limited child: how much differs, and a picture that shows where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Differences of brightness below this are the work of the renderer, not of the page.
LEAST = 24
MOST_PIXELS = 20_000_000


def difference_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Task of the child: `input_path` is now, `other` was before; writes a PNG to `output_path`.

    Returns the share of pixels that differ, in percent; empty if one of them is not a picture.
    """
    from PIL import Image, ImageChops, ImageOps, UnidentifiedImageError  # only the child needs it

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    try:
        new, old = (_read(Image, argument[name]) for name in ("input_path", "other"))
        size = (max(new.width, old.width), max(new.height, old.height))
        new, old = (_padded(Image, picture, size) for picture in (new, old))
        mask = ImageChops.difference(new, old).convert("L").point([0] * LEAST + [255] * (256 - LEAST))
        count = mask.histogram()[255]
        pale = Image.blend(ImageOps.grayscale(new).convert("RGB"), Image.new("RGB", size, "white"), 0.6)
        pale.paste((200, 30, 60), mask=mask)
        pale.save(Path(argument["output_path"]), "PNG", optimize=True)
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError):
        return {}
    return {"percent": round(100 * count / (size[0] * size[1]), 2)}


def _read(library: Any, path: str) -> Any:
    with library.open(path, formats=["PNG"]) as picture:
        return picture.convert("RGB")


def _padded(library: Any, picture: Any, size: tuple[int, int]) -> Any:
    """A shorter page ends in white."""
    if picture.size == size:
        return picture
    whole = library.new("RGB", size, "white")
    whole.paste(picture, (0, 0))
    return whole
