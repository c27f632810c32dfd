"""A URLconf with mistakes in it: the walk must find each of them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from watchbook.core.accounts import audit
from watchbook.project.urls import urlpatterns as whole


def says_hello(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


def writes_when_read(request: HttpRequest) -> HttpResponse:
    audit.record("read", request=request)
    return HttpResponse("hello")


def draws_inline(request: HttpRequest) -> HttpResponse:
    return HttpResponse('<p style="color: red">hello</p>')


def breaks(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a mistake")


urlpatterns = [
    *whole,
    path("open/", login_not_required(says_hello), name="open"),
    path("exempt/", csrf_exempt(says_hello), name="exempt"),
    path("writes/", writes_when_read, name="writes"),
    path("inline/", draws_inline, name="inline"),
    path("breaks/", breaks, name="breaks"),
]
