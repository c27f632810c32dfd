"""Recognises note links: full addresses, share texts and short links; and keywords for the search of the platform."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.base.text import cut
from watchbook.base.web.errors import WebError
from watchbook.core.accounts.models import User
from watchbook.core.sources.records import Added, AddError, Choice, Found, Item, Link, Offer, Pasted, Pick, Refusal
from watchbook.systems.notes import actions, fetch
from watchbook.systems.notes.access import may_work
from watchbook.systems.notes.actions.keywords import add_creator
from watchbook.systems.notes.encryption import author_hash
from watchbook.systems.notes.fetch.short_links import follow_short_link
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.models import Candidate, Creator, Keyword, Note
from watchbook.systems.notes.parse.pasted import DOMAINS, SHORT_DOMAINS, creator_of
from watchbook.systems.notes.parse.records import InvalidNoteAddress, NoteAddress, bare_url, parse_note_url
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.validation import LONGEST_KEYWORD

NOTE, SHORT, KEYWORD, CREATOR = "note", "short_link", "keyword", "creator"
# A note has no frequency; a keyword is searched by its own schedule.
KEYWORD_RANK = 5


def read(pasted: Pasted) -> Found | Refusal | None:
    if pasted.is_on(*SHORT_DOMAINS) and pasted.path.strip("/"):
        return Found(SHORT, pasted.url, _("Short link to a note"), "note", bare_url(pasted.url))
    if pasted.is_on(*DOMAINS, *SHORT_DOMAINS):
        return _address(pasted.url)
    if pasted.url or pasted.scheme or len(pasted.text) > LONGEST_KEYWORD:
        return None
    title = _("Notes about: %(text)s") % {"text": cut(pasted.text, 80)}
    return Found(KEYWORD, pasted.text, title, "note", rank=KEYWORD_RANK)


def _address(url: str) -> Found | Refusal:
    try:
        address = parse_note_url(url)
    except InvalidNoteAddress:
        if creator_of(url):
            return Found(CREATOR, url, _("Creator of notes"), "note", bare_url(url))
        return Refusal(_("This address names no note. Open the note and copy its address."), "no_note")
    notes = () if address.xsec_token else (_("The address has no token; the platform may refuse it."),)
    return Found(NOTE, url, _("Note %(id)s") % {"id": address.note_id}, "note", bare_url(url), notes)


def offer(user: User, found: Found) -> Offer:
    if not may_work(user):
        return Offer(found.title, why_not=_("Only an operator can add notes, or allow you to."), code="not_allowed")
    if found.kind == KEYWORD:
        return _keyword_offer(found)
    if found.kind == CREATOR:
        return _creator_offer(found)
    url = found.key
    if found.kind == SHORT:
        try:
            url = follow_short_link(url)
        except WebError as error:
            return Offer(found.title, problem=_(error.message), why_not=_("The short link does not lead to a note."))
    try:
        address = parse_note_url(url)
    except InvalidNoteAddress:
        return Offer(found.title, why_not=_("The short link does not lead to a note."), code="no_note")
    return _note_offer(address, url)


def _note_offer(address: NoteAddress, url: str) -> Offer:
    title = _("Note %(id)s") % {"id": address.note_id}
    if exists := _known(address.note_id):
        return Offer(title, exists=exists, why_not=_("This note is already in the list."), code="exists")
    items: tuple[Item, ...] = ()
    problem = ""
    try:
        fetch.adapter()
        note, _cookie = crawl.read_note(address)
        items = (Item(note.title or title, note.author_name, bare_url(url), note.published_at),)
        title = _("Note: %(title)s") % {"title": cut(note.title or address.note_id, 80)}
    except NotesError as error:
        problem = _(error.message)
    return Offer(
        title,
        picks=(Pick(url, _("This note"), _("Text, counts and addresses of its pictures"), bare_url(url), requests=0),),
        items=items,
        items_note=_("read just now") if items else "",
        problem=problem,
        notify_note=_("The note appears in the inbox when it is collected."),
        cost_note=_("1 request, once."),
        first_note=_("The note is collected with the next run, within 5 minutes."),
    )


def _known(note_id: str) -> Link | None:
    if Note.objects.filter(note_id=note_id).exists():
        return Link(note_id, reverse("notes:note", args=[note_id]))
    if Candidate.objects.filter(note_id=note_id).exists():
        return Link(note_id, f"{reverse('notes:candidates')}?q={note_id}")
    return None


def _creator_offer(found: Found) -> Offer:
    known = Creator.objects.filter(author_hash=author_hash(creator_of(found.key))).first()
    problem = ""
    try:
        crawl.check_can(fetch.CAN_LIST, fetch.CANNOT_LIST)
    except NotesError as error:
        problem = _(error.message)
    return Offer(
        found.title,
        picks=(Pick(found.key, _("New notes of this creator"), _("Each becomes a candidate once"), requests=0),),
        exists=Link(known.title, reverse("notes:creator", args=[known.pk])) if known else None,
        why_not=_("This creator is already in the list.") if known else "",
        code="exists" if known else "",
        problem=problem,
        notify_note=_("Collected notes appear in the inbox."),
        cost_note=_("A few requests per check and one per note, within the daily limits of the cookies."),
        first_note=_("The first check runs within 5 minutes."),
    )


def _keyword_offer(found: Found) -> Offer:
    known = Keyword.objects.filter(keyword=found.key).first()
    return Offer(
        found.title,
        picks=(Pick(found.key, _("Notes that the platform finds"), _("Each becomes a candidate once"), requests=0),),
        exists=Link(known.keyword, reverse("notes:keywords")) if known else None,
        why_not=_("This keyword is already in the list.") if known else "",
        code="exists" if known else "",
        notify_note=_("Collected notes appear in the inbox."),
        cost_note=_("A search and one request per note, within the daily limits of the cookies."),
        first_note=_("The first search runs within 5 minutes."),
    )


def add(user: User, found: Found, choice: Choice) -> list[Added]:
    if not may_work(user):
        raise AddError(_("Only an operator can add notes, or allow you to."), "not_allowed")
    value = next(iter(choice.picks))
    try:
        if found.kind == CREATOR:
            creator, is_new = add_creator(value, user=user)
            url = reverse("notes:creator", args=[creator.pk])
            return _added(CREATOR, creator.title, Link(creator.title, url), is_new=is_new)
        if found.kind == KEYWORD:
            keyword, is_new = actions.add_keyword(value)
            return _added(KEYWORD, keyword.keyword, Link(keyword.keyword, reverse("notes:keywords")), is_new=is_new)
        note_id = parse_note_url(value).note_id
        exists = _known(note_id)
        if exists is None:
            actions.add_candidates({"items": [{"note_url": value}]})
        return _added(NOTE, note_id, exists or _known(note_id), is_new=exists is None)
    except NotesError as error:
        raise AddError(_(error.message)) from None


def _added(kind: str, title: str, link: Link | None, *, is_new: bool) -> list[Added]:
    url = link.url if link else reverse("notes:candidates")
    if not is_new:
        raise AddError(_("This is already in the list."), "exists", url=url)
    return [Added(kind, title, url)]
