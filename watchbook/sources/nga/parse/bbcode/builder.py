"""Tokens to balanced HTML. Depth is bounded: past the limit a tag has no look, its text flows on."""

from __future__ import annotations

from dataclasses import dataclass, field

from watchbook.sources.nga.parse.bbcode.addresses import Addresses
from watchbook.sources.nga.parse.bbcode.tags import BLOCKS, INLINE, Shape, block_shape, cell_start, inline_shape, shown
from watchbook.sources.nga.parse.bbcode.tokens import Token

# The site itself nests quotes five deep; the cleaner's time grows with the square of the depth.
DEEPEST = 48
MOST_INLINE = 12
# A table needs three levels of its own before it can hold text.
_NEEDED = {"table": 3, "list": 2}


@dataclass
class Entry:
    """An open element. Inline ones are written when text follows, so that none is empty."""

    token: Token
    shape: Shape
    is_block: bool = False
    is_written: bool = False
    collapse: int = 0
    # Tags of the same frame that were opened past the limit and wait for their end.
    past_limit: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.token.name

    def pass_limit(self, name: str) -> None:
        self.past_limit[name] = self.past_limit.get(name, 0) + 1


class Builder:
    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self.out: list[str] = []
        self.stack: list[Entry] = [Entry(Token("open", "", "root"), Shape(), is_block=True, is_written=True)]
        self.collapses = 0
        self._is_after_block = True

    @property
    def frame(self) -> Entry:
        for entry in reversed(self.stack):
            if entry.is_block:
                return entry
        raise AssertionError("the root is a block")

    @property
    def collapse(self) -> int:
        """Number of the collapsed block around this place, 0 outside."""
        return next((entry.collapse for entry in reversed(self.stack) if entry.collapse), 0)

    def has_open(self, *names: str) -> bool:
        return any(entry.name in names for entry in self.stack)

    def is_in_link(self) -> bool:
        return any(entry.shape.is_link for entry in self.stack)

    def text(self, source: str) -> None:
        visible = shown(source)
        if self._is_after_block and visible.startswith("\n"):
            visible = visible[1:]
        if self.frame.name in {"table", "tr", "list"} and not visible.strip():
            return
        if visible:
            self.html(visible.replace("\n", "<br>"))

    def html(self, piece: str, *, is_block: bool = False) -> None:
        """A finished piece at this place."""
        self._need_cell()
        self._write_pending()
        self.out.append(piece)
        self._is_after_block = is_block

    def open(self, token: Token) -> None:
        if token.name in INLINE:
            self._open_inline(token)
        elif token.name in {"tr", "td"}:
            self._open_cell(token)
        else:
            self._open_block(token)

    def item(self, token: Token) -> None:
        """`[*]` belongs to the nearest list of the same cell."""
        for index in range(len(self.stack) - 1, 0, -1):
            name = self.stack[index].name
            if name == "list":
                self._close_to(index + 1)
                self._push(token, Shape("<li>", "</li>"))
                return
            if name in {"td", "table"}:
                break
        self.text(token.text)

    def close(self, token: Token) -> None:
        frame = self.frame
        if frame.past_limit.get(token.name):
            frame.past_limit[token.name] -= 1
            if token.name in BLOCKS:
                self.text("\n")
        elif token.name in INLINE:
            self._close_inline(token)
        else:
            self._close_block(token)

    def finish(self) -> str:
        self._close_to(1)
        return "".join(self.out)

    def _open_inline(self, token: Token) -> None:
        shape = inline_shape(token, self.addresses)
        in_link = shape is not None and shape.is_link and self.is_in_link()
        is_full = self._inline_count() >= MOST_INLINE or len(self.stack) > DEEPEST
        if shape is None or (token.name == "url" and (in_link or is_full)):
            self.text(token.text)
        elif is_full:
            self.frame.pass_limit(token.name)
        else:
            self._need_cell()
            self.stack.append(Entry(token, Shape() if in_link else shape))

    def _inline_count(self) -> int:
        return next(n for n, entry in enumerate(reversed(self.stack)) if entry.is_block)

    def _close_inline(self, token: Token) -> None:
        for index in range(len(self.stack) - 1, 0, -1):
            entry = self.stack[index]
            if entry.is_block:
                break
            if entry.name == token.name:
                again = self.stack[index + 1 :]
                self._close_to(index)
                self.stack += [Entry(other.token, other.shape) for other in again]
                return
        self.text(token.text)

    def _open_block(self, token: Token) -> None:
        shape = Shape("<table><tbody>", "</tbody></table>") if token.name == "table" else block_shape(token)
        is_full = len(self.stack) + _NEEDED.get(token.name, 1) > DEEPEST
        if is_full or (token.name == "h" and self.has_open("h")):
            self.frame.pass_limit(token.name)
            self.text(f"\n{shape.label}\n" if shape.label else "\n")
            return
        self._need_cell()
        self.collapses += token.name == "collapse"
        self._push(token, shape, collapse=self.collapses if token.name == "collapse" else 0)

    def _open_cell(self, token: Token) -> None:
        """Rows and cells belong to the nearest table; whatever is open inside it ends here."""
        table = self._nearest("table")
        if table is None or self.frame.past_limit.get("table"):
            self.text(token.text)
            return
        keep = table + 1
        if token.name == "td" and len(self.stack) > keep and self.stack[keep].name == "tr":
            keep += 1
        self._close_to(keep)
        if token.name == "tr":
            self._push(token, Shape("<tr>", "</tr>"))
            return
        if self.stack[-1].name != "tr":
            self._push(Token("open", "", "tr"), Shape("<tr>", "</tr>"))
        self._push(token, Shape(cell_start(token), "</td>"))

    def _need_cell(self) -> None:
        """Text straight in a table or a list would be moved out of it by every browser."""
        name = self.frame.name
        if name in {"table", "tr"}:
            self._open_cell(Token("open", "", "td"))
        elif name == "list":
            self._push(Token("item", "", "*"), Shape("<li>", "</li>"))

    def _close_block(self, token: Token) -> None:
        index = self._nearest(token.name)
        if index is None:
            self.text(token.text)
        else:
            self._close_to(index)

    def _nearest(self, name: str) -> int | None:
        return next((n for n in range(len(self.stack) - 1, 0, -1) if self.stack[n].name == name), None)

    def _push(self, token: Token, shape: Shape, *, collapse: int = 0) -> None:
        self._write_pending()
        self.out.append(shape.before)
        self.stack.append(Entry(token, shape, is_block=True, is_written=True, collapse=collapse))
        self._is_after_block = True

    def _write_pending(self) -> None:
        for entry in self.stack:
            if not entry.is_written:
                self.out.append(entry.shape.before)
                entry.is_written = True

    def _close_to(self, size: int) -> None:
        while len(self.stack) > size:
            entry = self.stack.pop()
            if entry.is_written:
                self.out.append(entry.shape.after)
            if entry.is_block:
                self._is_after_block = True
