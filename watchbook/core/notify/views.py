"""Pages of channels and their delivery log. Everybody sees his own; anything else is not there."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, Max, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base import clock
from watchbook.core.notify import actions, senders, unsubscribe
from watchbook.core.notify.errors import BadConfig, NotifyTrouble
from watchbook.core.notify.forms import FORMS, ChannelForm
from watchbook.core.notify.models import ChannelType, Delivery, NotificationChannel, State
from watchbook.core.ui.paging import keyset

LOG_ROWS = 30


def _own(request: HttpRequest, pk: UUID) -> NotificationChannel:
    return get_object_or_404(NotificationChannel.objects.of(request.user).select_related("user"), pk=pk)


@require_GET
def channels(request: HttpRequest) -> HttpResponse:
    own = NotificationChannel.objects.of(request.user).annotate(
        waiting=Count("deliveries", filter=Q(deliveries__state=State.PENDING)),
        last_sent_at=Max("deliveries__sent_at"),
    )
    counts = _counts() if request.user.is_staff else None
    context = {"channels": list(own.order_by("name", "id")), "kinds": ChannelType, "counts": counts, "now": clock.now()}
    return render(request, "notify/channels.html", context)


def _counts() -> dict[str, Any]:
    """What an operator may know of other people's channels: how many, and how they fare."""
    people = NotificationChannel.objects.filter(house_slot=None)
    day = clock.ago(days=1)
    states = Delivery.objects.filter(Q(created_at__gte=day) | Q(state=State.PENDING)).aggregate(
        waiting=Count("pk", filter=Q(state=State.PENDING)),
        sent=Count("pk", filter=Q(state=State.SENT)),
        failed=Count("pk", filter=Q(state=State.FAILED)),
    )
    return states | people.aggregate(
        total=Count("pk"),
        active=Count("pk", filter=Q(is_active=True)),
        in_trouble=Count("pk", filter=Q(failure_count__gt=0, is_active=True)),
    )


@never_cache
@require_http_methods(["GET", "POST"])
def add_channel(request: HttpRequest, kind: str) -> HttpResponse:
    if kind not in FORMS:
        raise Http404
    form = FORMS[kind](request.POST or None, is_operator=request.user.is_staff)
    if request.method == "POST" and form.is_valid():
        try:
            saved = actions.create(
                request.user,  # type: ignore[arg-type]
                channel_type=kind,
                given=form.given(),
                **form.choices(),
            )
        except BadConfig as error:
            _complain(form, error)
        else:
            return _saved(request, saved)
    return render(request, "notify/channel_form.html", {"form": form, "kind": ChannelType(kind)})


def _saved(request: HttpRequest, saved: actions.Saved) -> HttpResponse:
    if saved.secret:
        # Not through a redirect: the secret would have to be kept somewhere on the way.
        return render(request, "notify/secret.html", {"channel": saved.channel, "secret": saved.secret})
    messages.success(request, _("Saved. Press Test to see whether it works."))
    return redirect("channel", saved.channel.pk)


def _complain(form: ChannelForm, error: BadConfig) -> None:
    form.add_error(error.field if error.field in form.fields else None, error.message)


@require_GET
def channel(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = _own(request, pk)
    log = keyset(found.deliveries.defer("payload", "html", "text"), request.GET, by="pk", size=LOG_ROWS)
    return render(request, "notify/channel.html", {"channel": found, "page": log, "now": clock.now()})


@never_cache
@require_http_methods(["GET", "POST"])
def edit_channel(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = _own(request, pk)
    form = FORMS[found.channel_type](
        request.POST or None,
        is_operator=request.user.is_staff,
        channel=found,
    )
    if request.method == "POST" and form.is_valid():
        try:
            actions.update(found, given=form.given() or None, **form.choices())
        except BadConfig as error:
            _complain(form, error)
        else:
            messages.success(request, _("Saved."))
            return redirect("channel", found.pk)
    context = {"form": form, "channel": found, "kind": ChannelType(found.channel_type)}
    return render(request, "notify/channel_form.html", context)


@require_http_methods(["GET", "POST"])
def delete_channel(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = _own(request, pk)
    if request.method == "POST":
        actions.delete(found)
        messages.success(request, _("The channel %(name)s was removed.") % {"name": found.name})
        return redirect("channels")
    waiting = found.deliveries.filter(state=State.PENDING).count()
    return render(request, "notify/channel_delete.html", {"channel": found, "waiting": waiting})


@require_POST
def test_channel(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = _own(request, pk)
    try:
        tried = actions.send_test(found)
    except NotifyTrouble as error:
        messages.warning(request, error.message)
        return redirect("channel", found.pk)
    if tried.state == State.SENT:
        messages.success(request, _("The test notice was taken by the receiver."))
    else:
        reason = senders.explain(tried.error_code, tried.last_status, tried.last_error)
        messages.error(request, _("The test notice was not delivered: %(reason)s") % {"reason": reason})
    return redirect("channel", found.pk)


@never_cache
@require_POST
def rotate_secret(request: HttpRequest, pk: UUID) -> HttpResponse:
    found = _own(request, pk)
    try:
        secret = actions.rotate_secret(found)
    except NotifyTrouble as error:
        messages.error(request, error.message)
        return redirect("channel", found.pk)
    return render(request, "notify/secret.html", {"channel": found, "secret": secret, "is_rotation": True})


def _own_delivery(request: HttpRequest, pk: int) -> Delivery:
    rows = Delivery.objects.seen_by(request.user).filter(channel__house_slot=None)
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
        messages.success(request, _("It is sent again with the same id."))
    except NotifyTrouble as error:
        messages.error(request, error.message)
    return redirect("delivery", found.pk)


@csrf_exempt  # mail programs post here without a page of ours (one-click unsubscribe); the link itself is the proof
@login_not_required
@never_cache
@require_http_methods(["GET", "POST"])
def unsubscribe_page(request: HttpRequest, token: str) -> HttpResponse:
    found = unsubscribe.find(token)
    if found is None:
        raise Http404
    if request.method == "POST":
        (unsubscribe.resume if request.POST.get("again") else unsubscribe.stop)(found)
        found.refresh_from_db()
    is_stopped = found.disabled_reason == unsubscribe.REASON
    return render(request, "notify/unsubscribe.html", {"channel": found, "is_stopped": is_stopped})
