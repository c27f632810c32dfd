"""Times and figures as the reader writes them: `15 Nov 13:58` in English, `11-15 13:58` in Chinese.

The reader of a page: language, time zone, theme (from account, cookie or browser), and messages to the reader.

Addresses of static files, with a digest of their content.
"""

from __future__ import annotations

import hashlib
import json
from datetime import date, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.contrib import messages
from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.templatetags.static import static
from django.utils import timezone
from django.utils.translation import check_for_language, get_language, gettext, ngettext, pgettext

from watchbook.base import clock

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NONE = "–"
MINUS = "−"

DAY = 86_400
YEAR = 31_556_952  # a mean year of the calendar, in seconds


def is_chinese() -> bool:
    return (get_language() or "").startswith("zh")


def today() -> date:
    """The reader's day."""
    return local(clock.now()).date()


def local(moment: datetime) -> datetime:
    """The moment in the reader's zone; a moment without a zone is read as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.get_fixed_timezone(0))
    return timezone.localtime(moment)


def day_text(day: date) -> str:
    """A day; its year only when it is not this year."""
    same_year = day.year == today().year
    if is_chinese():
        return f"{day:%m-%d}" if same_year else f"{day:%Y-%m-%d}"
    text = f"{day.day} {MONTHS[day.month - 1]}"
    return text if same_year else f"{text} {day.year}"


def moment_text(moment: datetime, style: str = "full") -> str:
    """`short` and `seconds` drop the day when it is today; `date` and `time` show one part."""
    there = local(moment)
    if style == "date":
        return day_text(there.date())
    clock_text = f"{there:%H:%M:%S}" if style == "seconds" else f"{there:%H:%M}"
    if style == "time" or (style in ("short", "seconds") and there.date() == today()):
        return clock_text
    return f"{day_text(there.date())} {clock_text}"


def full_text(moment: datetime) -> str:
    """The whole instant with its zone, for `title`."""
    there = local(moment)
    return f"{there:%Y-%m-%d %H:%M:%S} {timezone.get_current_timezone_name()} ({there:%z})"


def heading_text(day: date, comma: str = ",") -> str:
    """The day as a heading: Sunday, 15 November / 11 月 15 日 星期日."""
    weekday = gettext(WEEKDAYS[day.weekday()])  # translated by Django itself
    year = "" if day.year == today().year else str(day.year)
    if is_chinese():
        return f"{year + ' 年 ' if year else ''}{day.month} 月 {day.day} 日 {weekday}"
    return f"{weekday}{comma} {day.day} {MONTH_NAMES[day.month - 1]}{' ' + year if year else ''}"


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def log_heading(day: date) -> str:
    """The head of a day in a log: today and yesterday are said."""
    text = heading_text(day, comma="")
    if day == today():
        return gettext("Today, %(day)s") % {"day": text}
    if day == today() - timedelta(days=1):
        return gettext("Yesterday, %(day)s") % {"day": text}
    return text


def ago_text(moment: datetime, now: datetime | None = None) -> str:
    """How long ago, or in how long; a second fact beside the time itself."""
    seconds = ((now or clock.now()) - local(moment)).total_seconds()
    span = span_text(round(abs(seconds)))
    if abs(seconds) < 1:
        return gettext("now")
    return gettext("%(span)s ago") % {"span": span} if seconds > 0 else gettext("in %(span)s") % {"span": span}


def span_text(seconds: float | timedelta) -> str:
    """A duration in at most two units: 0.2 s, 48 s, 2 min 3 s, 5 h 10 min, 3 d 4 h, 45 d, 6 y."""
    total = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    if total < 10 and total != int(total):
        return pgettext("duration", "%(n)s s") % {"n": f"{total:.1f}"}
    whole = round(total)
    if whole >= YEAR:
        return pgettext("duration", "%(n)s y") % {"n": whole // YEAR}
    if whole >= 30 * DAY:
        return pgettext("duration", "%(n)s d") % {"n": whole // DAY}
    units = (
        (86_400, pgettext("duration", "%(n)s d")),
        (3_600, pgettext("duration", "%(n)s h")),
        (60, pgettext("duration", "%(n)s min")),
        (1, pgettext("duration", "%(n)s s")),
    )
    for (size, text), (smaller, small_text) in pairwise(units):
        if whole >= size:
            count, rest = divmod(whole, size)
            rest //= smaller
            return f"{text % {'n': count}} {small_text % {'n': rest}}" if rest else text % {"n": count}
    return units[-1][1] % {"n": whole}


def number_text(value: float | int | None, places: int | None = None) -> str:
    """2,418,066 and −2 in both languages. `places` are decimals; without it a float shows what it has."""
    if value is None:
        return NONE
    text = f"{value:,}" if places is None else f"{value:,.{places}f}"
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def size_text(count: int | None) -> str:
    """Bytes as people read them."""
    if count is None:
        return NONE
    if count < 1024:
        return ngettext("%(n)s byte", "%(n)s bytes", count) % {"n": count}
    size = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        size /= 1024
        if size < 1000 or unit == "TB":
            return f"{size:,.1f} {unit}" if size < 10 else f"{size:,.0f} {unit}"
    raise AssertionError("unreachable")


THEMES = ("", "light", "dark")
THEME_COOKIE = "watchbook_theme"
# The marks that HTML wants; Django's own codes are lower case.
HTML_LANG = {"en": "en", "zh-hans": "zh-Hans"}
_YEAR = 365 * 24 * 3600


def language_of(user: object) -> str:
    """The language that the account asks for, or empty."""
    wanted = getattr(user, "language", "")
    return wanted if wanted in dict(settings.LANGUAGES) and check_for_language(wanted) else ""


def zone_of(user: object) -> ZoneInfo:
    name = getattr(user, "time_zone", "") or settings.TIME_ZONE
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo(settings.TIME_ZONE)


def theme_of(request: HttpRequest, user: object) -> str:
    """light, dark, or empty for what the reader's system says."""
    wanted = getattr(user, "theme", "") if user else request.COOKIES.get(THEME_COOKIE, "")
    return wanted if wanted in THEMES else ""


def keep_in_cookie(response: HttpResponseBase, name: str, value: str) -> None:
    if value:
        response.set_cookie(
            name, value, max_age=_YEAR, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE, httponly=True
        )
    else:
        response.delete_cookie(name, samesite="Lax")


def done(request: HttpRequest, response: HttpResponse, text: str, *, undo_url: str = "") -> HttpResponse:
    """Confirm an action: a toast after an htmx request, else a message. A POST to `undo_url` undoes it."""
    if getattr(request, "htmx", False):
        # Headers are ASCII; json.dumps escapes everything else.
        response.headers["HX-Trigger"] = json.dumps({"toast": {"text": str(text), "undo": undo_url}})
    else:
        messages.success(request, text)
    return response


def asset_url(path: str) -> str:
    mark = _mark(path)
    return f"{static(path)}?v={mark}" if mark else static(path)


@cache
def _mark(path: str) -> str:
    found = finders.find(path)
    if not found:
        return ""
    return hashlib.sha256(Path(found).read_bytes()).hexdigest()[:8]
