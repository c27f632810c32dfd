"""Atom feeds: the changes of a website, the versions of one page, what made one rule true.

An address carries a token for one feed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation

from watchbook.core.accounts.models import User
from watchbook.core.stream import feeds
from watchbook.core.stream.feeds import Feed, Item, atom, full_address, stable_id
from watchbook.core.stream.models import StreamFeed
from watchbook.kit import diff
from watchbook.systems.pages.filters import FIELD_TITLES
from watchbook.systems.pages.models import Page, PageEvent, PageVersion, Site, SiteRule
from watchbook.systems.pages.parse.noise import Mask
from watchbook.systems.pages.store.pages import SOURCE, masking, texts_of
from watchbook.systems.pages.store.rules import line_of

ENTRIES = 30
TEXT = 2000


@dataclass(frozen=True)
class Subject:
    """The website, page or rule of a feed."""

    site: Site
    page: Page | None = None
    rule: SiteRule | None = None

    @property
    def kind(self) -> str:
        """The activity has no such kind, so the token opens no other feed."""
        if self.rule:
            return f"rule:{self.rule.pk}"
        return f"page:{self.page.pk}" if self.page else f"site:{self.site.pk}"

    @property
    def name(self) -> str:
        if self.rule:
            return f"{self.site}: {self.rule}"
        return str(self.page or self.site)

    @property
    def link(self) -> str:
        """The page about it."""
        if self.rule:
            return reverse("pages:rules", args=[self.site.pk])
        return reverse("pages:page", args=[self.page.pk]) if self.page else reverse("pages:site", args=[self.site.pk])

    @property
    def own_page(self) -> str:
        """The page that creates and revokes its addresses."""
        if self.rule:
            return reverse("pages:rule_feed", args=[self.site.pk, self.rule.pk])
        if self.page:
            return reverse("pages:page_feed", args=[self.page.pk])
        return reverse("pages:site_feed", args=[self.site.pk])

    def path(self, plain: str) -> str:
        kind, _colon, number = self.kind.partition(":")
        return reverse("pages:feed", args=[plain, kind, number])


def make(user: User, subject: Subject, request: HttpRequest) -> str:
    """Create an address of the feed. It is shown once and cannot be read again."""
    _feed, plain = feeds.make(user, name=subject.name[:100], source=SOURCE, kind=subject.kind, request=request)
    return full_address(subject.path(plain))


def of(user: User, subject: Subject) -> QuerySet[StreamFeed]:
    """Return the active addresses of this feed."""
    rows: QuerySet[StreamFeed] = feeds.of(user).filter(source=SOURCE, kind=subject.kind)
    return rows


def find(plain: str, kind: str, number: int) -> Subject | None:
    """The website, page or rule, if the token gives access to its feed and belongs to its owner."""
    feed = feeds.find(plain)
    if feed is None or feed.source not in ("", SOURCE) or feed.kind not in ("", f"{kind}:{number}"):
        return None
    return named(feed.user, kind, number)


def named(user: User, kind: str, number: int) -> Subject | None:
    """The website, page or rule of this user, or None."""
    if kind == "site":
        site = Site.objects.of(user).select_related("user").filter(pk=number).first()
        return Subject(site) if site else None
    if kind == "rule":
        rules = SiteRule.objects.filter(site__in=Site.objects.of(user)).select_related("site", "site__user")
        rule = rules.filter(pk=number).first()
        return Subject(rule.site, rule=rule) if rule else None
    rows = Page.objects.of(user).select_related("site", "site__user")
    page = rows.filter(pk=number).first() if kind == "page" else None
    return Subject(page.site, page) if page else None


def document(subject: Subject, plain: str) -> bytes:
    """The newest entries, in the language of the owner."""
    language = subject.site.user.language or "en"
    with translation.override(language):
        head = Feed(
            id=stable_id(SOURCE, subject.kind),
            title=f"Watchbook: {subject.name}",
            link=subject.link,
            self_link=subject.path(plain),
            language="zh-Hans" if language.startswith("zh") else "en",
        )
        return atom(head, list(_versions(subject.page) if subject.page else _events(subject)))


def _events(subject: Subject) -> Iterable[Item]:
    rows = PageEvent.objects.filter(site=subject.site).select_related("page").order_by("-at", "-pk")
    for event in (rows.filter(by_rule=subject.rule) if subject.rule else rows)[:ENTRIES]:
        page: Page = event.page
        version = f"?to={event.version}" if event.version else ""
        yield Item(
            id=stable_id(SOURCE, "event", event.pk),
            title=page.title or page.path,
            text=line_of(event),
            link=reverse("pages:page", args=[page.pk]) + version,
            updated_at=event.at,
            categories=(SOURCE, f"{SOURCE}.{event.kind}"),
        )


def _versions(page: Page) -> Iterable[Item]:
    """Each version with the lines that it changed; the first with the beginning of its text."""
    rows = list(PageVersion.objects.filter(page=page).order_by("-number")[: ENTRIES + 1])
    texts = _texts(page, [version.number for version in rows])
    for version in rows[:ENTRIES]:
        before = texts.get(version.number - 1)
        yield Item(
            id=stable_id(SOURCE, "version", page.pk, version.number),
            title=f"{page.title or page.path} ({version.number})",
            text="\n".join([*_fields(version), *_lines(before, texts[version.number])])[:TEXT],
            link=f"{reverse('pages:page', args=[page.pk])}?to={version.number}",
            updated_at=version.read_at,
            categories=(SOURCE, f"{SOURCE}.changed"),
        )


def _texts(page: Page, numbers: Sequence[int]) -> dict[int, str]:
    """Texts without noise, newest first. One query for every tenth version."""
    found: dict[int, str] = {}
    for number in numbers:
        if number not in found:
            found |= texts_of(page.pk, number)
    masked = masking(page.site, Mask.of(page.mask))
    return {number: masked.text(found[number]) for number in numbers}


def _fields(version: PageVersion) -> Iterable[str]:
    for name in version.changed_fields:
        yield f"{FIELD_TITLES.get(name, name)}: {version.fields.get(name, '')}"


def _lines(before: str | None, text: str) -> Iterable[str]:
    if before is None:
        yield text
        return
    for paragraph in diff.compare(before, text).paragraphs:
        for kind, sign in ((diff.REMOVED, "−"), (diff.ADDED, "+")):
            if any(piece.kind == kind for piece in paragraph.segments):
                kept = [piece.text for piece in paragraph.segments if piece.kind in (kind, diff.SAME)]
                yield f"{sign} {''.join(kept)}"
