"""Where a form or a link may send the reader afterwards: a path of this site, nothing else."""

from __future__ import annotations

import re

from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

LONGEST = 2000

# Browsers drop tabs and line breaks inside an address and read a backslash as a slash.
_UNFIT = re.compile(r"[\x00-\x20\x7f-\x9f\\]")


def is_safe(target: str) -> bool:
    """Absolute addresses are refused even when they name this host: a path says the same and cannot be spoofed."""
    return (
        0 < len(target) <= LONGEST
        and target.startswith("/")
        and not target.startswith("//")
        and not _UNFIT.search(target)
        and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    )


def safe_next(request: HttpRequest, target: str | None, fallback: str = "home") -> str:
    """The target when it is safe, else the fallback (a URL name or a path). Without a target, `next` of the request."""
    if target is None:
        target = request.POST.get("next") or request.GET.get("next") or ""
    return target if is_safe(target) else resolve_url(fallback)
