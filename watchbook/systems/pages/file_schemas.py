"""Requests and responses of the API for the files of a version: evidence and screenshots."""

from __future__ import annotations

from datetime import datetime

from ninja import Field, Schema
from pydantic import ConfigDict

from watchbook.core.api.schemas import Answer, Listing, said
from watchbook.systems.pages.models import PageEvidence, PageShot


class EvidenceQuery(Schema):
    model_config = ConfigDict(extra="forbid")

    form: str = Field("warc", max_length=10, description="warc or wacz.")


class WebEvidenceOut(Answer):
    """What was sent and received with one version of a page."""

    row = PageEvidence

    number: int = said("The version; 0 is the answer that decided what became of a URL that left its list.")
    kept_at: datetime
    size: int = said("Bytes of the WARC file.")
    sha256: str = said("Digest of the WARC file.")
    exchanges: int = said("Requests with their responses.")


class WebEvidenceList(Listing[WebEvidenceOut]):
    """Evidence of a page, newest version first."""


class ShotQuery(Schema):
    model_config = ConfigDict(extra="forbid")

    show: str = Field("picture", max_length=20, description="picture or difference.")


class WebShotOut(Answer):
    """A screenshot of one version of a page."""

    row = PageShot

    number: int = said("The version.")
    taken_at: datetime
    width: int
    height: int
    size: int = said("Bytes.")
    changed_percent: float | None = said("Share of pixels that differ from the screenshot before; null without one.")


class WebShotList(Listing[WebShotOut]):
    """Screenshots of a page, newest version first."""
