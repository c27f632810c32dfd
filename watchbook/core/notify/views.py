"""Pages of channels and their delivery log. Users see their own; anything else is not found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, Max, Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base import clock
from watchbook.core.accounts.access import is_safe_target, person_of, safe_next
from watchbook.core.accounts.audit import export
from watchbook.core.notify import actions, filters, push, rules
from watchbook.core.notify.channels import (
    BadConfig,
    ChannelForm,
    ChannelKind,
    Listed,
    NotifyError,
    email,
    kind_of,
    kinds,
)
from watchbook.core.notify.forms import RuleForm, values_of
from watchbook.core.notify.message import explain
from watchbook.core.notify.models import Delivery, NotificationChannel, State

# One page of the log.
MOST_RESENT = 100


def _own(request: HttpRequest, pk: UUID) -> NotificationChannel:
    return get_object_or_404(NotificationChannel.objects.of(person_of(request)).select_related("user"), pk=pk)


@require_GET
def channels(request: HttpRequest) -> HttpResponse:
    own = NotificationChannel.objects.of(person_of(request)).annotate(
        waiting=Count("deliveries", filter=Q(deliveries__state=State.PENDING)),
        last_sent_at=Max("deliveries__sent_at"),
    )
    counts = _counts() if request.user.is_staff else None
    context = {
        "channels": list(own.order_by("name", "id")),
        "counts": counts,
        "now": clock.now(),
    }
    return render(request, "notify/channels.html", context)


def _counts() -> dict[str, Any]:
    """Return what an operator may know of all channels: how many there are and how many fail."""
    people = NotificationChannel.objects.filter(account_slot=None)
    day = clock.ago(days=1)
    states = Delivery.objects.filter(Q(created_at__gte=day) | Q(state=State.PENDING)).aggregate(
        waiting=Count("pk", filter=Q(state=State.PENDING)),
        sent=Count("pk", filter=Q(state=State.SENT)),
        failed=Count("pk", filter=Q(state=State.FAILED)),
    )
    return states | people.aggregate(
        total=Count("pk"),
        active=Count("pk", filter=Q(is_active=True)),
        failing=Count("pk", filter=Q(failure_count__gt=0, is_active=True)),
    )


@require_GET
def choose_channel(request: HttpRequest) -> HttpResponse:
    count = NotificationChannel.objects.of(person_of(request)).count()
    context = {"kinds": list(kinds().values()), "count": count, "back": _back(request)}
    return render(request, "notify/choose.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
def add_channel(request: HttpRequest, kind: str) -> HttpResponse:
    found = _kind(kind)
    name = push.name_of(request) if kind == push.KIND else str(found.label)
    if asked := _asked_for_values(request, found):
        form, listing = asked
        context = {"form": form, "kind": found, "kinds": list(kinds().values()), "listing": listing}
        return render(request, found.template, context | {"back": _back(request)})
    form = found.form(request.POST or None, is_operator=request.user.is_staff, name=name)
    if request.method == "POST" and form.is_valid():
        try:
            saved = actions.create(
                person_of(request),
                channel_type=kind,
                given=form.given(),
                **form.choices(),
            )
        except BadConfig as error:
            _show_error(form, error)
        else:
            return _saved(request, saved)
    context = {"form": form, "kind": found, "kinds": list(kinds().values()), "devices": _devices(request, kind)}
    context["back"] = _back(request)
    return render(request, found.template, context)


@dataclass(frozen=True)
class Values:
    """What a service offers for a field of the form; `problem` says why there is nothing."""

    values: list[Listed]
    problem: str = ""


def _asked_for_values(
    request: HttpRequest, kind: ChannelKind, channel: NotificationChannel | None = None
) -> tuple[ChannelForm, Values | None] | None:
    """The form as it was typed and not yet checked, with what the service lists; None if not requested."""
    then = request.POST.get("then")
    if not kind.listed_field or then not in ("list", "type"):
        return None
    form = kind.form(is_operator=request.user.is_staff, channel=channel)
    form.initial.update({name: request.POST.get(name, "") for name in form.fields})
    if then == "type":
        return form, None
    try:
        given = {name: value for name, value in request.POST.items() if value}  # an empty secret means the saved one
        found = actions.list_values(person_of(request), kind, given, channel)
    except NotifyError as error:
        return form, Values([], error.message)
    return form, Values(found, "" if found else _("No chats found. Send a message to the bot, then try again."))


def _back(request: HttpRequest) -> str:
    """The page that sent the user here to add a channel, such as Add source; empty if there is none."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    return target if is_safe_target(target) else ""


def _devices(request: HttpRequest, kind: str) -> list[NotificationChannel]:
    """Return the browsers of this user that receive push, on the page that adds one."""
    if kind != push.KIND:
        return []
    return list(NotificationChannel.objects.of(person_of(request)).filter(channel_type=kind).order_by("name", "id"))


def _kind(name: str) -> ChannelKind:
    found = kind_of(name)
    if found is None:
        raise Http404
    return found


def _saved(request: HttpRequest, saved: actions.Saved) -> HttpResponse:
    if saved.channel.channel_type == push.KIND:
        push.keep(request, saved.channel)
    if saved.secret:
        # Not through a redirect: the secret would have to be kept somewhere on the way.
        return render(request, "notify/secret.html", {"channel": saved.channel, "secret": saved.secret})
    if request.POST.get("then") == "test":
        return _tested(request, saved.channel)
    messages.success(request, _("Channel saved. Select Send test to check it."))
    return redirect(_back(request) or reverse("channel", args=[saved.channel.pk]))


def _show_error(form: ChannelForm, error: BadConfig) -> None:
    form.add_error(error.field if error.field in form.fields else None, error.message)


@require_GET
def channel(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    found = _own(request, pk)
    log = filters.CHANNEL_LOG.show(filters.deliveries(person_of(request)).filter(channel=found), request.GET)
    if file := export(request, log):
        return file
    test = found.deliveries.filter(kind="test").order_by("-pk").first()
    tried = test.attempts.order_by("-pk").first() if test else None
    context = {"channel": found, "listing": log, "page": log.page, "test": test, "tried": tried, "now": clock.now()}
    context |= {"needs_help": "help" in request.GET, "kind": found.kind}
    return render(request, "notify/channel.html", context)


@require_GET
def delivery_log(request: HttpRequest) -> HttpResponseBase:
    """The deliveries to all of one's channels."""
    person = person_of(request)
    log = filters.log_of(person).show(filters.deliveries(person), request.GET)
    if file := export(request, log):
        return file
    return render(request, "notify/deliveries.html", {"listing": log, "page": log.page})


@never_cache
@require_http_methods(["GET", "POST"])
def edit_channel(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = _own(request, pk)
    kind = _kind(found.channel_type)
    if asked := _asked_for_values(request, kind, found):
        form, listing = asked
        context = {"form": form, "channel": found, "kind": kind, "listing": listing}
        return render(request, "notify/channel_form.html", context)
    form = kind.form(
        request.POST or None,
        is_operator=request.user.is_staff,
        channel=found,
    )
    if request.method == "POST" and form.is_valid():
        try:
            actions.update(found, given=form.given() or None, **form.choices())
        except BadConfig as error:
            _show_error(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("channel", found.pk)
    context = {"form": form, "channel": found, "kind": kind}
    return render(request, "notify/channel_form.html", context)


@require_http_methods(["GET", "POST"])
def delete_channel(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = _own(request, pk)
    if request.method == "POST":
        actions.delete(found)
        messages.success(request, _("Channel deleted: %(name)s") % {"name": found.name})
        return redirect("channels")
    waiting = found.deliveries.filter(state=State.PENDING).count()
    return render(request, "notify/channel_delete.html", {"channel": found, "waiting": waiting})


@require_POST
def test_channel(request: HttpRequest, pk: UUID) -> HttpResponse:
    return _tested(request, _own(request, pk))


def _tested(request: HttpRequest, found: NotificationChannel) -> HttpResponse:
    try:
        tried = actions.send_test(found)
    except NotifyError as error:
        messages.warning(request, error.message)
        return redirect("channel", found.pk)
    if tried.state == State.SENT:
        messages.success(request, _("Test sent."))
        return redirect(_back(request) or reverse("channel", args=[found.pk]))
    reason = explain(tried.error_code, tried.last_status, tried.last_error)
    messages.error(request, _("Test not sent: %(reason)s") % {"reason": reason})
    return redirect("channel", found.pk)


@require_POST
def confirm_test(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Keep the owner's answer to: did the test arrive?"""
    found = _own(request, pk)
    has_arrived = request.POST.get("arrived") == "yes"
    actions.confirm_test(found, has_arrived=has_arrived)
    if has_arrived:
        return redirect("channel", found.pk)
    return redirect(f"{reverse('channel', args=[found.pk])}?help=1#help")


@never_cache
@require_http_methods(["GET", "POST"])
def rule(request: HttpRequest, thread: str) -> HttpResponse:
    """Show and set how notifications about one item are sent, with what the rule would have sent."""
    user = person_of(request)
    subject = rules.subject_of(thread, user)
    if subject is None:
        raise Http404
    current = rules.rule_of(subject.thread)
    form = RuleForm(request.POST or None, subject=subject, initial=values_of(current))
    wanted = form.rule() if form.is_bound and form.is_valid() else current
    is_preview = request.POST.get("then") == "preview"
    if form.is_bound and form.is_valid() and not is_preview:
        actions.set_rule(user, subject, wanted)
        messages.success(request, _("Saved."))
        return redirect("notification_rule", subject.thread)
    context = {
        "form": form,
        "subject": subject,
        "would_send": rules.preview(subject, wanted, user),
        "days": rules.PREVIEW_DAYS,
        "is_preview": is_preview,
    }
    return render(request, "notify/rule.html", context)


@never_cache
@require_POST
def rotate_secret(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = _own(request, pk)
    try:
        secret = actions.rotate_secret(found)
    except NotifyError as error:
        messages.error(request, error.message)
        return redirect("channel", found.pk)
    return render(request, "notify/secret.html", {"channel": found, "secret": secret, "is_rotation": True})


def _own_delivery(request: HttpRequest, pk: int) -> Delivery:
    rows = Delivery.objects.seen_by(person_of(request)).filter(channel__account_slot=None)
    return get_object_or_404(rows.select_related("channel__user", "bundle"), pk=pk)


@require_GET
def delivery(request: HttpRequest, pk: int) -> HttpResponse:
    found = _own_delivery(request, pk)
    context = {"delivery": found, "channel": found.channel, "attempts": found.attempts.order_by("-id")[:50]}
    return render(request, "notify/delivery.html", context)


@require_POST
def replay(request: HttpRequest, pk: int) -> HttpResponse:
    found = _own_delivery(request, pk)
    try:
        actions.replay(found)
        messages.success(request, _("Queued for resending with the same ID."))
    except NotifyError as error:
        messages.error(request, error.message)
    return redirect("delivery", found.pk)


@require_POST
def replay_many(request: HttpRequest) -> HttpResponse:
    """Resend the selected deliveries; those that cannot be resent are counted with the first reason."""
    given = [int(text) for text in request.POST.getlist("pk") if text.isascii() and text.isdigit() and len(text) < 19]
    target = safe_next(request, request.POST.get("next", ""), "delivery_log")
    rows = Delivery.objects.seen_by(person_of(request)).filter(channel__account_slot=None, pk__in=given[:MOST_RESENT])
    sent, refused = actions.replay_many(rows.select_related("channel__user").order_by("pk"))
    if sent:
        words = ngettext("%(n)s notification queued.", "%(n)s notifications queued.", sent)
        messages.success(request, words % {"n": sent})
    if refused:
        words = ngettext("%(n)s was not resent: %(reason)s", "%(n)s were not resent: %(reason)s", len(refused))
        messages.warning(request, words % {"n": len(refused), "reason": refused[0]})
    if not sent and not refused:
        messages.warning(request, _("Select at least one notification."))
    return redirect(target)


@csrf_exempt  # mail programs post here without a page of ours (one-click unsubscribe); the link itself is the proof
@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def unsubscribe_page(request: HttpRequest, token: str) -> HttpResponse:
    found = email.find_by_token(token)
    if found is None:
        raise Http404
    if request.method == "POST":
        (email.resubscribe if request.POST.get("again") else email.unsubscribe)(found)
        found.refresh_from_db()
    is_stopped = found.disabled_reason == email.UNSUBSCRIBED
    return render(request, "notify/unsubscribe.html", {"channel": found, "is_stopped": is_stopped})
