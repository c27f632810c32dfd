"""The API as a whole: finds the routers of all rooms and systems, and makes every answer look the same.

The OpenAPI document: ninja's, with the refusals of every operation, and no two shapes under one name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import wraps
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as ModelError
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.urls import URLPattern, re_path
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import DocsBase
from ninja.openapi.schema import OpenAPISchema
from pydantic import BaseModel, create_model

import watchbook
from watchbook.base.invalid import InvalidInput
from watchbook.base.logs import request_id
from watchbook.base.store.blobs import BlobError
from watchbook.base.store.folder import disk_usage
from watchbook.core import registry
from watchbook.core.api import errors, schemas
from watchbook.core.api.auth import members
from watchbook.core.api.errors import Invalid, refusal_of, status_of
from watchbook.core.api.schemas import Refusal, StrictParser, make_strict
from watchbook.kit.paging import InvalidCursor


def refuses(*statuses: int) -> dict[str, Any]:
    """For `openapi_extra` of an endpoint: what it may refuse with beside what every endpoint may."""
    return {"responses": {status: {} for status in statuses}}


def sends_file(media_type: str, words: str) -> dict[str, Any]:
    """For `openapi_extra` of an endpoint that answers no JSON."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"responses": {200: {"description": words, "content": content}}}


class Document(OpenAPISchema):
    def get_paths(self) -> dict[str, Any]:
        paths: dict[str, Any] = super().get_paths()
        for path, operations in paths.items():
            shape = self._shape(refusal_of(path) or Refusal)
            for facts in operations.values():
                _add_refusals(facts, shape, status_of(path, Invalid.status))
        return paths

    def _shape(self, model: type[BaseModel]) -> dict[str, Any]:
        holder = create_model("Holder", answer=(model, ...))
        # ninja says that it wants a model of parameters, and gives it models of answers itself.
        found: tuple[dict[str, Any], bool] = self._create_schema_from_model(holder, mode="serialization")  # type: ignore[type-var]
        return found[0]

    def add_schema_definitions(self, definitions: dict[str, Any]) -> None:
        """Generated clients have one class per name: the second shape of a name would silently replace the first."""
        for name, shape in definitions.items():
            if self.schemas.setdefault(name, shape) != shape:
                raise TypeError(f"two different shapes of the API are called {name}")


def _add_refusals(facts: dict[str, Any], shape: dict[str, Any], invalid: int) -> None:
    good = {status: answer for status, answer in facts["responses"].items() if status < 400}
    declared = set(facts["responses"]) - set(good)
    refusals = {
        status: {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": shape}}}
        for status in sorted(declared | _usual(facts, declared, invalid))
    }
    facts["responses"] = good | refusals


def _usual(facts: dict[str, Any], declared: set[int], invalid: int) -> set[int]:
    """No token, not allowed, too many; and where something is given: not there, not right, too large."""
    places = {parameter["in"] for parameter in facts.get("parameters", ())}
    has_body = "requestBody" in facts
    # Every operation refuses query parameters that it does not know.
    usual = {401, 403, 429} if 400 in declared else {401, 403, 429, invalid}
    if "path" in places:
        usual.add(404)
    if has_body:
        usual.add(413)
    return usual


log = logging.getLogger(__name__)

# Rooms of the house; their routers name their whole path (/jobs, /channels, /search, ...).
ROOMS = ("jobs", "notify", "alerts", "search", "sources", "stream", "people", "media", "ops")
LARGEST_BODY = settings.DATA_UPLOAD_MAX_MEMORY_SIZE

ERROR_FORM = '{"error": {"code", "message", "details"}}'


class Docs(DocsBase):
    """The interactive documentation, from files that the package brings: no outside host, no inline script."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        look = {"layout": "BaseLayout", "deepLinking": True, "url": self.get_openapi_url(api, kwargs)}
        return render(request, "api/docs.html", {"swagger": look, "error_form": ERROR_FORM})


class Shell(NinjaAPI):
    """ninja's API with our URLs: JSON refusals for every method and address, tags, no redirect to the sign-in page."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._documents: dict[str, Document] = {}

    def _get_urls(self) -> list[Any]:
        found: list[Any] = super()._get_urls()
        for bound in self._get_bound_routers():
            for path_view in bound.path_operations.values():
                for operation in path_view.operations:
                    make_strict(operation)
        for pattern in found:
            if isinstance(pattern, URLPattern) and pattern.name not in {"openapi-view", "api-root"}:
                pattern.callback = guarded(pattern.callback)
        found = [pattern for pattern in found if pattern.name != "api-root" or _root_is_reversible(pattern)]
        return [*found, re_path(r"^[\s\S]*$", guarded(_nothing_here), name="nothing-here")]

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> Document:
        """Return the document; it is built once, because pydantic needs half a second of processor time for it."""
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        if prefix not in self._documents:
            self._documents[prefix] = Document(self, prefix)
        return self._documents[prefix]


def _root_is_reversible(pattern: URLPattern) -> bool:
    """ninja finds its own prefix by this name; the answer at it is ours."""
    pattern.callback = guarded(_nothing_here)
    return True


def _nothing_here(request: HttpRequest, **_kwargs: Any) -> HttpResponseBase:
    raise errors.NotFound


def guarded(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Around every endpoint: size, method and last errors in our shape. The gate inside decides who may call."""

    @wraps(view, updated=())
    def call(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            _refuse_large(request)
            response = view(request, *args, **kwargs)
        except errors.Problem as problem:
            return errors.answer(request, problem)
        if response.status_code == 405:
            return errors.answer(request, errors.NotThisMethod(headers={"Allow": response.get("Allow", "")}))
        return schemas.stamp(request, response)

    # Tokens come without a session: the gate answers 401, and checks CSRF itself where a session is used.
    call.login_required = False  # type: ignore[attr-defined]
    call.csrf_exempt = True  # type: ignore[attr-defined]
    call.is_api = True  # type: ignore[attr-defined]
    return call


def _refuse_large(request: HttpRequest) -> None:
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        raise errors.Problem(_("Content-Length is not a number.")) from None
    is_upload = request.content_type == "multipart/form-data"
    if length > LARGEST_BODY and not is_upload:
        raise errors.TooLarge


def build_api() -> NinjaAPI:
    """A fresh API with all routers mounted: core rooms at /v1, each system at /v1/<slug>."""
    api = Shell(
        title="Watchbook",
        version=watchbook.__version__,
        description='Lists are paged by cursor. Refusals are {"error": {"code", "message", "details"}}.',
        urls_namespace="api",
        auth=members,
        parser=StrictParser(),
        docs=Docs(),
        docs_decorator=_documented,
    )
    _add_handlers(api)
    for module in _rooms():
        api.add_router("/v1", module.router, tags=[module.__name__.split(".")[-2]])
    for source, module in registry.parts("api"):
        api.add_router(f"/v1/{source.slug}", module.router, tags=[source.slug])
        if hasattr(module, "envelope"):
            own = (getattr(module, "refusal", None), getattr(module, "statuses", None))
            errors.use_envelope(f"/api/v1/{source.slug}/", module.envelope, *own)
    return api


def _rooms() -> Iterator[Any]:
    for room in ROOMS:
        name = f"watchbook.core.{room}.api"
        if find_spec(name):
            yield import_module(name)


def _documented(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """The documentation page is for people who are signed in; the schema also for tokens."""
    if getattr(view, "func", view).__name__ == "openapi_view":
        return view

    @wraps(view.func)  # type: ignore[attr-defined]
    def schema(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        members(request)
        return view(request, **kwargs)

    return schema


def _add_handlers(api: NinjaAPI) -> None:
    """Everything that an endpoint may raise, as one of our problems."""
    handlers: dict[type[Exception], Callable[[Any], errors.Problem]] = {
        errors.Problem: lambda problem: problem,
        ValidationError: lambda error: errors.Invalid(details=_details(error.errors)),
        InvalidInput: _invalid_input,
        InvalidCursor: lambda _error: errors.Invalid(_("The cursor is not valid for this list."), code="bad_cursor"),
        ModelError: lambda error: errors.Invalid(details=_model_details(error)),
        Http404: lambda _error: errors.NotFound(),
        ObjectDoesNotExist: lambda _error: errors.NotFound(),
        PermissionDenied: lambda _error: errors.NotAllowed(),
        RequestDataTooBig: lambda _error: errors.TooLarge(),
        SuspiciousOperation: lambda error: errors.Invalid(str(error)),
        MultiPartParserError: lambda error: errors.Invalid(str(error)),
        HttpError: _from_http_error,
        OperationalError: _paused,
        InterfaceError: _paused,
        BlobError: lambda _error: errors.ContentMissing(),
        Exception: _unforeseen,
    }
    for kind, translate in handlers.items():
        api.add_exception_handler(kind, _handler(translate))


def _handler(translate: Callable[[Any], errors.Problem]) -> Callable[[HttpRequest, Any], HttpResponse]:
    return lambda request, error: errors.answer(request, translate(error))


def _invalid_input(error: InvalidInput) -> errors.Problem:
    kind = errors.Conflict if error.is_conflict else errors.Invalid
    return kind(error.message, code=error.code, details=error.details)


class _Unforeseen(errors.Problem):
    status, code = 500, "internal"

    @classmethod
    def default_message(cls) -> str:
        return _("The server failed to process the request. The log has details under the request ID.")


def _unforeseen(error: Exception) -> errors.Problem:
    log.error("an endpoint failed", exc_info=error)
    return _Unforeseen(details={"request_id": request_id()})


def _paused(error: Exception) -> errors.Problem:
    """Away, busy for too long, or its disk is full: a pause, which the caller can wait for."""
    log.error("the database failed an endpoint", exc_info=error)
    if disk_usage().is_full:
        return errors.DiskFull(details={"request_id": request_id()})
    return errors.Unavailable(details={"request_id": request_id()})


def _from_http_error(error: HttpError) -> errors.Problem:
    if isinstance(error.__cause__, errors.Problem):  # what our parser said; ninja wraps it
        return error.__cause__
    kinds = {kind.status: kind for kind in errors.Problem.__subclasses__()}
    kind = kinds.get(error.status_code, errors.Problem)
    problem = kind(error.message if kind is not errors.NotSignedIn else "")
    problem.status = error.status_code
    return problem


def _details(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where and why, without echoing the value back."""
    return [
        {"field": _field(tuple(error.get("loc", ()))), "message": str(error.get("msg", ""))[:300]}
        for error in found[:50]
    ]


def _field(place: tuple[Any, ...]) -> str:
    """("body", "payload", "name") is the field name: the name of an endpoint's argument is internal."""
    steps = place[2:] if len(place) > 2 and place[0] in {"body", "query", "form"} else place[1:]
    return ".".join(str(step) for step in steps)


def _model_details(error: ModelError) -> list[dict[str, Any]]:
    if hasattr(error, "error_dict"):
        return [{"field": name, "message": text} for name, texts in error.message_dict.items() for text in texts]
    return [{"field": "", "message": text} for text in error.messages]
