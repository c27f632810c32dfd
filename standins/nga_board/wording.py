"""How the forum writes: escaped text, names of anonymous people, packed fields. Not taken from any reader of it."""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache

STEMS = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥"
SURNAMES = (
    "王李张刘陈杨黄吴赵周徐孙马朱胡林郭何高罗郑梁谢宋唐许邓冯韩曹曾彭萧蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任姚卢傅钟姜崔谭廖"
    "范汪陆金石戴贾韦夏邱方侯邹熊孟秦白江阎薛尹段雷黎史龙陶贺顾毛郝龚邵万钱严赖覃洪武莫孔汤向常温康施文牛樊葛邢安齐易乔伍庞"
    "颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁"
    "蒲房滕屈饶解牟艾尤阳时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边卞姬师和仇栾隋"
    "商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘池查麻苑迟邝"
)
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "$": "&#36;"})


def written(text: str) -> str:
    """A post as the site keeps it: escaped, one line, and what GBK lacks as numbers, emoji as their two halves."""
    escaped = text.translate(_ESCAPES).replace("\r\n", "\n").replace("\n", "<br/>")
    return "".join(_character(one) for one in escaped) if not _is_gbk(escaped) else escaped


def _is_gbk(text: str) -> bool:
    try:
        text.encode("gbk")
    except UnicodeEncodeError:
        return False
    return True


def _character(one: str) -> str:
    if _is_gbk(one):
        return one
    units = one.encode("utf-16-be")
    return "".join(f"&#{int.from_bytes(units[at : at + 2])};" for at in range(0, len(units), 2))


def token_of(person: str, tid: int) -> str:
    """An anonymous person inside one topic."""
    return "#anony_" + hashlib.md5(f"{person}@{tid}".encode(), usedforsecurity=False).hexdigest()


def shown_name(token: str) -> str:
    """What readers see: six characters out of two tables; the site's scripts skip one digit between the halves."""
    digits = token.removeprefix("#anony_")
    found = ""
    for start in (0, 6):
        stem, first, second = digits[start], digits[start + 1 : start + 3], digits[start + 3 : start + 5]
        found += STEMS[int(stem, 16)] + _surname(first) + _surname(second)
    return found


def _surname(byte: str) -> str:
    number = int(byte, 16)
    return SURNAMES[number] if number < len(SURNAMES) else ""


def packed(fields: dict[int, int]) -> str:
    """`topic_misc`: records of five bytes in base64 without its padding."""
    data = b"".join(bytes([number]) + value.to_bytes(4) for number, value in fields.items())
    return base64.b64encode(data).decode("ascii").rstrip("=")


@lru_cache(maxsize=4096)
def minute(seconds: int) -> str:
    """`YYYY-MM-DD HH:MM` in Shanghai."""
    return (datetime.fromtimestamp(seconds, UTC) + timedelta(hours=8)).strftime("%Y-%m-%d %H:%M")
