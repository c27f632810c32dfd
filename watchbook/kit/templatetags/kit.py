"""Components as tags. Known to every template without `{% load %}`.

{% icon "name" %}  {% badge "ok" "s-ok" text %}  {% state_badge "job" run.state %}  {% mark badge %}
{% when moment "short" %}  {% ago moment %}  {% span seconds %}  {% number n %}  {% size bytes %}
{% delta added removed modified %}  {% lang_of text %}  {% spark values label "sys-x" %}  {{ url|readable }}
{% chart drawn _("Items per day") _("30 days") %}<span>Measured …</span>{% endchart %}
{% evidence %}<span>…</span>{% endevidence %}  {% nothing "search" _("No matches") %}<p>…</p>{% endnothing %}
{% field form.name %}  {% form_errors form %}  {% asset "kit/app.css" %}  {% part "nav" class="tabs" %}…{% endpart %}
Query strings: Django's own {% querystring page=None %}.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from django import template
from django.forms import BaseForm, BoundField
from django.template.loader import render_to_string
from django.utils.encoding import uri_to_iri
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from watchbook.kit import badges, charts, formatting
from watchbook.kit.charts.svg import Value
from watchbook.kit.diff import Segment
from watchbook.kit.formatting import asset_url

register = template.Library()

_IDEOGRAPH = re.compile("[\u3400-\u9fff]")


@register.filter
def readable(url: str) -> str:
    """An address as people read it, 新闻 for %E6%96%B0%E9%97%BB; untouched when something invisible hides in it."""
    text = str(uri_to_iri(url))
    return text if text.isprintable() else url


@register.simple_tag
def segments(pieces: Sequence[Segment]) -> SafeString:
    """Draw a word diff as `<del>` and `<ins>`, without any whitespace of its own."""
    return format_html_join("", "{}", ((_segment(piece),) for piece in pieces))


def _segment(piece: Segment) -> SafeString:
    if piece.kind in ("del", "ins"):
        return format_html("<{0}>{1}</{0}>", piece.kind, piece.text)
    return escape(piece.text)


@register.simple_tag
def asset(path: str) -> str:
    return asset_url(path)


@register.simple_tag
def icon(name: str, label: str = "", css: str = "") -> SafeString:
    """Draw an icon of kit/icons.svg, or "file#drawing" of another sprite; without a label it is decoration."""
    return draw_icon(name, label, css)


def draw_icon(name: str, label: str = "", css: str = "") -> SafeString:
    return _drawn(name, str(label), css)


@lru_cache(maxsize=1024)  # a page has dozens of icons, and the product a hundred different ones
def _drawn(name: str, label: str, css: str) -> SafeString:
    heard = format_html('role="img" aria-label="{}"', label) if label else mark_safe('aria-hidden="true"')
    sprite, _, drawing = name.rpartition("#")
    return format_html(
        '<svg class="icon{}" {}><use href="{}#{}"/></svg>',
        f" {css}" if css else "",
        heard,
        asset_url(sprite or "kit/icons.svg"),
        drawing,
    )


@register.simple_tag
def badge(tone: str, shape: str, text: object) -> SafeString:
    """A state: word, shape, colour. Tone "" or "off" is plain."""
    return draw_badge(badges.Badge(str(text), "" if tone == "off" else tone, shape))


@register.simple_tag
def mark(given: badges.Badge | None) -> SafeString | str:
    """A badge made in Python."""
    return draw_badge(given) if given else ""


def draw_badge(given: badges.Badge) -> SafeString:
    tone = f" badge--{given.tone}" if given.tone else ""
    return format_html(
        '<span class="badge{}">{}{}</span>', tone, draw_icon(given.shape) if given.shape else "", given.text
    )


@register.simple_tag
def state_badge(vocabulary: str, state: str) -> SafeString | str:
    """The badge of a state in the vocabulary of `badges.py`."""
    return draw_badge(badges.find(vocabulary, state)) if state else ""


@register.simple_tag
def when(moment: datetime | date | None, style: str = "full", empty: str = formatting.NONE) -> SafeString:
    """A time in the reader's zone: full, short (no day when today), date, time, seconds."""
    if moment is None or moment == "":
        return format_html('<span class="muted">{}</span>', empty)
    if not isinstance(moment, datetime):
        return format_html('<time datetime="{}">{}</time>', moment.isoformat(), formatting.day_text(moment))
    return _time(moment, formatting.moment_text(moment, style))


@register.simple_tag
def ago(moment: datetime | None, empty: str = formatting.NONE) -> SafeString:
    if not moment:
        return format_html('<span class="muted">{}</span>', empty)
    return _time(moment, formatting.ago_text(moment))


def _time(moment: datetime, text: str) -> SafeString:
    there = formatting.local(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        there.isoformat(timespec="seconds"),
        formatting.full_text(moment),
        text,
    )


@register.simple_tag
def span(seconds: float | timedelta | None) -> str:
    return formatting.NONE if seconds is None else formatting.span_text(seconds)


@register.simple_tag
def number(value: float | int | None, places: int | None = None) -> str:
    return formatting.number_text(value, places)


@register.simple_tag
def size(count: int | None) -> str:
    return formatting.size_text(count)


@register.simple_tag
def lang_of(text: object) -> SafeString | str:
    """` lang="…"` for a source's text whose script is not that of the page."""
    is_chinese = bool(_IDEOGRAPH.search(str(text)))
    if is_chinese == formatting.is_chinese():
        return ""
    return format_html(' lang="{}"', "zh-Hans" if is_chinese else "en")


@register.simple_tag
def delta(added: int | None = None, removed: int | None = None, modified: int | None = None) -> SafeString:
    """+412 −9 ~38; zeros are omitted; three zeros are one."""
    parts = [
        (name, f"{sign}{count:,}", text % {"n": f"{count:,}"})
        for name, sign, count, text in (
            ("add", "+", added, gettext("%(n)s added")),
            ("del", "−", removed, gettext("%(n)s removed")),
            ("mod", "~", modified, gettext("%(n)s modified")),
        )
        if count
    ]
    inside = format_html_join("", '<span class="delta-{}" title="{}">{}</span>', ((n, t, s) for n, s, t in parts))
    return format_html('<span class="delta">{}</span>', inside or mark_safe('<span class="delta-mod">0</span>'))


@register.simple_block_tag
def evidence(content: str, icon: str = "clock") -> SafeString:
    """When it was measured, by which run, at what cost. Children are spans; the dots are drawn."""
    return format_html('<p class="evidence">{}{}</p>', draw_icon(icon) if icon else "", mark_safe(content))  # noqa: S308 - rendered


@register.simple_tag
def spark(values: Sequence[Value], label: str, css: str = "") -> SafeString:
    """A trend beside a number."""
    return charts.spark(values, label=label, css=css)


@register.simple_block_tag
def chart(
    content: str,
    drawn: charts.Chart | None,
    title: str,
    period: str = "",
    *,
    short: str = "",
    level: int = 2,
    none: str = "",
) -> SafeString:
    """A chart with its head, its evidence (the spans inside) and the same figures as a table.

    `short` is the period that a phone sees; without a chart, `none` says what is awaited.
    """
    parts = {"chart": drawn, "title": title, "period": period, "short": short, "heading": f"h{level}", "none": none}
    evidence = mark_safe(content.strip())  # noqa: S308 - rendered by the template
    return render_to_string("kit/_chart.html", {**parts, "evidence": evidence})


@register.simple_block_tag
def nothing(content: str, icon: str, title: str, level: int = 2) -> SafeString:
    """An empty state: icon, serif line, one paragraph, at most two actions. (`empty` belongs to `for`.)"""
    return format_html(
        '<div class="empty">{}<h{}>{}</h{}>{}</div>',
        draw_icon(icon),
        level,
        title,
        level,
        mark_safe(content),  # noqa: S308
    )


@register.simple_block_tag
def part(content: str, element: str, **given: Any) -> SafeString | str:
    """An element around a block, omitted when the block is empty. A block that has the element stays as it is."""
    inside = content.strip()
    css, label, shape = given.get("class", ""), given.get("label", ""), given.get("icon", "")
    if not inside or inside.startswith(f'<{element} class="{css}"'):
        return mark_safe(inside)  # noqa: S308 - rendered by the template
    heard = format_html(' aria-label="{}"', label) if label else ""
    return format_html(
        '<{} class="{}"{}>{}{}</{}>',
        element,
        css,
        heard,
        draw_icon(shape) if shape else "",
        mark_safe(inside),  # noqa: S308
        element,
    )


@register.simple_tag
def field(bound: BoundField, note: str = "", label: str = "", css: str = "") -> SafeString:
    """Label, control, note and error of one form field."""
    return badges.draw_field(bound, note=note, label=label, css=css, error_icon=draw_icon("s-bad"))


@register.simple_tag
def form_errors(form: BaseForm) -> SafeString | str:
    """The message on top of a refused form, with a link to each field."""
    if not form.errors:
        return ""
    wrong = [form[name] for name in form.errors if name in form.fields]
    links = format_html_join(", ", '<a href="#{}">{}</a>', ((bound.id_for_label, bound.label) for bound in wrong))
    general = format_html_join("", "<p>{}</p>", ((text,) for text in form.non_field_errors()))
    title = gettext("Not saved")
    if wrong:
        count = len(wrong)
        title = ngettext(
            "Not saved: %(n)s field needs another value", "Not saved: %(n)s fields need another value", count
        ) % {"n": count}
    return format_html(
        '<div class="notice notice--bad" role="alert">{}<div><strong>{}</strong>{}{}</div></div>',
        draw_icon("s-bad"),
        title,
        general,
        format_html("<p>{}</p>", links) if links else "",
    )
