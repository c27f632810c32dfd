"""Sentences that are stored in English and shown, or told, in somebody's language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from watchbook.base import sandbox
from watchbook.base.web.errors import WebError
from watchbook.sources.sitemaps.parse import Unreadable
from watchbook.sources.sitemaps.parse.notes import sentence_for
from watchbook.sources.sitemaps.records import CAPS

_STRANGE_ROOT = re.compile(r"The answer is XML of another kind: its root is <(.*)>\.", re.DOTALL)
_WITH_STATUS = re.compile(r"(.*) (\(HTTP [0-9]{3}\))", re.DOTALL)


def said(error: WebError | sandbox.TaskError | Unreadable) -> str:
    """What went wrong, with the status that the site gave for it: whoever runs the site looks for that."""
    status = error.status if isinstance(error, WebError) else None
    return f"{error.message} (HTTP {status})" if status else error.message


def error_text(message: str | None) -> str:
    """What a check or an address was refused for."""
    if not message:
        return ""
    if with_status := _WITH_STATUS.fullmatch(message):
        return f"{error_text(with_status[1])} {with_status[2]}"
    if strange := _STRANGE_ROOT.fullmatch(message):
        return _("The answer is XML of another kind: its root is <%(name)s>.") % {"name": strange[1]}
    return _(message)


def note_text(note: Mapping[str, Any]) -> str:
    count = note.get("count", 1)
    sentence = sentence_for(note["code"], count) or CAPS.get(note["code"])
    if not sentence:
        return error_text(note.get("message")) or str(note["code"])
    text = _(sentence)
    return text % {"count": count} if "%(count)d" in text else text
