"""What a user is notified of: new and edited posts of a topic, or of one author in all archived topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.notify.models import NotificationChannel
from watchbook.systems.nga import actions, filters
from watchbook.systems.nga.models import FollowedAuthor, Subscription, Thread
from watchbook.systems.nga.models.forum import path

CHOICES = ("notifies_posts", "notifies_edits", "is_starter_only")


class ChannelsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, channel: Any) -> str:
        return f"{channel.name} · {channel.get_channel_type_display()}"


class NotifyForm(forms.Form):
    notifies_posts = forms.BooleanField(label=gettext_lazy("New posts"), required=False, initial=True)
    notifies_edits = forms.BooleanField(label=gettext_lazy("Edited posts"), required=False, initial=True)
    is_starter_only = forms.BooleanField(label=gettext_lazy("Only posts of the topic's author"), required=False)
    channels = ChannelsField(
        label=gettext_lazy("Notify"),
        queryset=NotificationChannel.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose a channel.")},
    )

    def __init__(
        self, data: Mapping[str, Any] | None, *, user: User, chosen: Subscription | None, is_author: bool
    ) -> None:
        super().__init__(data, initial=_initial(chosen) if chosen else None)
        self.fields["channels"].queryset = NotificationChannel.objects.of(user).order_by("name", "pk")  # type: ignore[attr-defined]
        if is_author:
            del self.fields["is_starter_only"]

    def values(self) -> dict[str, Any]:
        channels = [channel.pk for channel in self.cleaned_data["channels"]]
        return {name: self.cleaned_data.get(name, False) for name in CHOICES} | {"channel_ids": channels}


def _initial(chosen: Subscription) -> dict[str, Any]:
    return {name: getattr(chosen, name) for name in CHOICES} | {"channels": [one.pk for one in chosen.channels.all()]}


@require_http_methods(["GET", "POST"])
def topic(request: HttpRequest, tid: int) -> HttpResponse:
    thread = filters.thread(tid, request.GET.get("fid"))
    return _page(request, thread, {"thread": thread})


@require_http_methods(["GET", "POST"])
def author(request: HttpRequest, tid: int, uid: int) -> HttpResponse:
    """An author who wrote in this topic; the notifications are of all archived topics."""
    thread = filters.thread(tid, request.GET.get("fid"))
    name = filters.author_name(thread, uid)
    if name is None:
        raise Http404
    return _page(request, thread, {"author_source_user_id": uid}, author=(uid, name))


def _page(
    request: HttpRequest, thread: Thread, key: dict[str, Any], *, author: tuple[int, str] | None = None
) -> HttpResponse:
    user = person_of(request)
    chosen = Subscription.objects.of(user).filter(**key).first()
    if request.method == "POST" and request.POST.get("end"):
        if chosen is not None:
            actions.unsubscribe(chosen, request=request)
            messages.success(request, _("You are no longer notified."))
        return redirect(path(thread))
    form = NotifyForm(request.POST or None, user=user, chosen=chosen, is_author=author is not None)
    if request.method == "POST" and form.is_valid():
        meant: dict[str, Any] = {"author": author} if author else {"thread": thread}
        try:
            actions.subscribe(user, **meant, **form.values(), request=request)
        except InvalidInput as error:
            form.add_error(None, error.message)
        else:
            messages.success(request, _("Saved."))
            return redirect(path(thread))
    context = {
        "thread": thread,
        "author": author,
        "chosen": chosen,
        "form": form,
        "followed": FollowedAuthor.objects.filter(pk=author[0]).first() if author else None,
        "is_operator": user.is_staff,
        "has_channels": form.fields["channels"].queryset.exists(),  # type: ignore[attr-defined]
    }
    return render(request, "nga/notify.html", context, status=422 if form.errors else 200)
