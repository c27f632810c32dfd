"""Display names of anonymous authors, read from the token that stands for them inside one topic."""

from __future__ import annotations

import re

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
