"""Values of the forum's answers: texts, numbers, times, bit masks, packed options, names of authors."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from html.entities import html5
from typing import Any

from watchbook.base.text import clean_text

_ANY = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z][a-zA-Z0-9]{1,31}));")
_NUMBER = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
# An emoji as the source writes it: the two halves of UTF-16, D800 to DBFF and DC00 to DFFF.
_HALVES = re.compile(
    r"&#(5529[6-9]|55[3-9]\d\d|56[0-2]\d\d|563[01]\d);&#(563[2-9]\d|56[4-9]\d\d|57[0-2]\d\d|573[0-3]\d|5734[0-3]);"
)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# What joining and cleaning look for; most texts have none of it.
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)


def unescape(text: str) -> str:
    """Text as a reader sees it. The site escapes once, its own page then also turns `&amp;#NNN;` into a character."""
    if "&" in text:
        text = _NUMBER.sub(_character, _ANY.sub(_character, text))
    return whole_characters(text)


def unescape_whole(text: str) -> str:
    """Unescape a text that has no control characters or halves of characters."""
    if "&" not in text:
        return text
    if "&#5" in text:
        text = _HALVES.sub(_whole, text)
    has_numbers = "&#" in text
    text = _ANY.sub(_character, text)
    if "&#" in text:
        return whole_characters(_NUMBER.sub(_character, text))
    return whole_characters(text) if has_numbers else text


def whole_characters(text: str) -> str:
    """Halves of characters joined, and out with what no database stores."""
    # Printable text, which most of it is, has none of both and is recognised in no time.
    if text.isprintable() or not _ODD.search(text):
        return text
    return clean_text(_PAIR.sub(_joined, text))


def lines(text: str) -> str:
    """Line ends of any kind as line feeds: the source writes `<br/>`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Nearly all of them are spelt like this. What is left may be any other spelling, which is looked for in the whole.
    plain = text.replace("<br/>", "\n")
    return _BREAK.sub("\n", text) if "<" in plain else plain


def _character(hit: re.Match[str]) -> str:
    if hit[1] or hit[2]:
        code = int(hit[1]) if hit[1] else int(hit[2], 16)
        return chr(code) if code <= 0x10FFFF else hit[0]
    return html5.get(f"{hit[3]};", hit[0])


def _whole(hit: re.Match[str]) -> str:
    return chr(0x10000 + (int(hit[1]) - 0xD800) * 0x400 + int(hit[2]) - 0xDC00)


def _joined(hit: re.Match[str]) -> str:
    # The source writes an emoji as its two UTF-16 halves.
    return hit[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


# The site's own time; China has known no other offset since the site exists.
SHANGHAI = timezone(timedelta(hours=8), "Asia/Shanghai")
_WHOLE = re.compile(r"\s*([+-]?\d{1,18})\s*", re.ASCII)
_MINUTE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?) (\d\d?):(\d\d?)", re.ASCII)
_LONGER = 10**18
# Before the site existed, and so far ahead that it is no date: milliseconds, overflows.
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800


class SpellingLost(Exception):
    """A number is asked for as text, and was read in a way that does not keep how it was written."""


def whole(value: Any, default: int = 0) -> int:
    """A whole number, whatever it was written as. Longer ones are no ids."""
    if type(value) is int and -_LONGER < value < _LONGER:
        return value  # as nearly all of the dozen numbers of a floor are
    if isinstance(value, str):
        found = _WHOLE.fullmatch(value)
        return int(found[1]) if found else default
    return int(value) if isinstance(value, bool) else default


def raw_text(value: Any) -> str:
    """Text as it was printed. Texts made of digits arrive as numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        raise SpellingLost
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def text(value: Any) -> str:
    """Text as a reader sees it, on one line: titles and names."""
    return "" if value is None else " ".join(unescape(raw_text(value)).split())


def mapping(value: Any) -> dict[str, Any]:
    """A map, whichever serialiser wrote it: lists count from "0", empty ones are "" or null."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {str(number): item for number, item in enumerate(value)}
    return {}


def rows_in_order(value: Any) -> Iterator[Mapping[str, Any]]:
    """Return the rows of a numbered map in order; other values are skipped."""
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))
        return
    for key, row in mapping(value).items():
        if key.lstrip("-").isdigit() and isinstance(row, dict):
            yield row


def moment(value: Any) -> datetime | None:
    """Seconds since 1970 as Shanghai time; None for 0, nonsense and what lies outside of any calendar."""
    seconds = whole(value)
    return datetime.fromtimestamp(seconds, SHANGHAI) if _EARLIEST <= seconds < _LATEST else None


def minute(value: Any) -> datetime | None:
    """`YYYY-MM-DD HH:MM` in Shanghai: all that a stub says about its time."""
    found = _MINUTE.match(raw_text(value))
    if not found:
        return None
    try:
        return datetime(*(int(part) for part in found.groups()), tzinfo=SHANGHAI)  # type: ignore[arg-type,misc]
    except ValueError:
        return None


NOTE = 1
HAS_NOTES = 4
COLLECTION = 32768
IN_COLLECTION = 65536
ANONYMOUS = 262144
BOARD = 2097152
# Marks the row that is the topic itself; no part of what a topic is.
OPENING = 33554432

NEWEST_FIRST = 262144

RECYCLE_BIN = 108


def unpack(row: Any) -> dict[int, int]:
    """{1: display bits, 2: collection, 3: board} of a topic, from the unpacked field or the packed one."""
    ready = mapping(row.get("topic_misc_var"))
    found = {whole(key): whole(value) for key, value in ready.items() if whole(key)}
    return found or unpack_text(raw_text(row.get("topic_misc")))


def unpack_text(packed: str) -> dict[int, int]:
    """Records of five bytes in base64 without padding: an id and a number. Unknown ids are kept, none ends the list."""
    packed = packed.strip()
    if not packed or "~" in packed:
        return {}
    try:
        data = base64.b64decode(packed[:400].rstrip("=") + "=" * (-len(packed[:400].rstrip("=")) % 4), validate=True)
    except (binascii.Error, ValueError):
        return {}
    return {data[at]: int.from_bytes(data[at + 1 : at + 5]) for at in range(0, len(data) - 4, 5)}


TOKEN = re.compile(r"#anony_[0-9a-fA-F]{32}")

_STEMS = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥"
_SURNAMES = (
    "王李张刘陈杨黄吴赵周徐孙马朱胡林郭何高罗郑梁谢宋唐许邓冯韩曹曾彭萧蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任姚卢傅钟姜崔谭廖"
    "范汪陆金石戴贾韦夏邱方侯邹熊孟秦白江阎薛尹段雷黎史龙陶贺顾毛郝龚邵万钱严赖覃洪武莫孔汤向常温康施文牛樊葛邢安齐易乔伍庞"
    "颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁"
    "蒲房滕屈饶解牟艾尤阳时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边卞姬师和仇栾隋"
    "商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘池查麻苑迟邝"
)
# Where each of the six characters is read: one hex digit for a stem, two for a surname.
_PLACES = ((7, 8), (8, 10), (10, 12), (13, 14), (14, 16), (16, 18))


def is_token(name: str) -> bool:
    return TOKEN.fullmatch(name) is not None


def display_name(name: str) -> str:
    """The six characters that readers see for a token; any other name as it is."""
    if not is_token(name):
        return name
    found = []
    for start, end in _PLACES:
        table, index = _STEMS if end - start == 1 else _SURNAMES, int(name[start:end], 16)
        # A slice, because the last byte value lies past the end of the table and gives no character.
        found.append(table[index : index + 1])
    return "".join(found)


def with_display_names(text: str) -> str:
    """Every token inside a text as a name."""
    return TOKEN.sub(lambda hit: display_name(hit[0]), text) if "#anony_" in text else text


# Names that the site prints instead of a user's.
_NOBODY = {"#ANONYMOUS#", "#SYSTEM#"}


def author_of_row(name: Any, uid: Any) -> tuple[str, int | None]:
    """Name and user id of a list row; an anonymous one repeats its token as the id."""
    shown, number = text(name), whole(uid)
    return display_name("" if shown in _NOBODY else shown), number if number > 0 else None


class Authors:
    """The users of one answer. Negative ids are slots of this answer alone; their token is the identity."""

    def __init__(self, users: Any) -> None:
        self._users = mapping(users)
        self._known: dict[int, tuple[str, int | None]] = {}

    def of(self, uid: Any) -> tuple[str, int | None]:
        number = whole(uid)
        if number not in self._known:
            self._known[number] = self._read(number)
        return self._known[number]

    def _read(self, number: int) -> tuple[str, int | None]:
        user = self._users.get(str(number))
        name = display_name(text(mapping(user).get("username")))
        if number > 0:
            return name or f"UID{number}", number
        return name, None
