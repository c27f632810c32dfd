"""Request bodies about what people manage: keywords and pasted texts."""

from __future__ import annotations

from typing import Annotated, Any

from django.utils.translation import gettext_noop
from pydantic import Field

from watchbook.systems.notes.validation import (
    BAD_NUMBER,
    BAD_RANGE,
    BAD_SORT,
    BAD_TYPE,
    LONGEST_KEYWORD,
    MOST_FOUND,
    NO_KEYWORD,
    NOT_VALID,
    Body,
    Range,
    SearchedType,
    Sort,
)

SHORTEST_EVERY, LONGEST_EVERY = 5, 43_200
LONGEST_PASTE = 300_000
BAD_PASTE = gettext_noop("Paste 1 to 500 lines with links to notes.")
BAD_EVERY = gettext_noop("every_minutes must be 5 to 43200, or null for the setting of this server.")
BAD_IDS = gettext_noop("Give 1 to 500 note IDs, or all.")

EveryMinutes = Annotated[int, Field(ge=SHORTEST_EVERY, le=LONGEST_EVERY)]


class KeywordChange(Body):
    """What is given changes; `every_minutes: null` follows the setting of this server again."""

    sentences = {
        "is_active": NOT_VALID, "sort": BAD_SORT, "note_type": BAD_TYPE, "time_range": BAD_RANGE,
        "every_minutes": BAD_EVERY,
    }  # fmt: skip

    is_active: bool = True
    sort: Sort = "general"
    note_type: SearchedType = "all"
    time_range: Range = "any"
    every_minutes: EveryMinutes | None = None

    @property
    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


class KeywordBody(KeywordChange):
    sentences = {**KeywordChange.sentences, "keyword": NO_KEYWORD}

    keyword: str = Field(max_length=LONGEST_KEYWORD)


class PasteBody(Body):
    sentences = {"text": BAD_PASTE}

    text: str = Field(min_length=1, max_length=LONGEST_PASTE)


class RetryBody(Body):
    """`note_ids`, or `all` for every failed candidate."""

    sentences = {"note_ids": BAD_IDS, "all": BAD_NUMBER}

    note_ids: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(default=[], max_length=MOST_FOUND)
    all: bool = False


BAD_LABEL = gettext_noop("A name has up to 100 characters.")
BAD_CREATOR = gettext_noop("Give the address of a profile, or its ID of 24 characters.")


class CreatorChange(Body):
    """What is given changes; `every_minutes: null` follows the setting of this server again."""

    sentences = {"is_active": NOT_VALID, "label": BAD_LABEL, "every_minutes": BAD_EVERY}

    is_active: bool = True
    label: str = Field("", max_length=100)
    every_minutes: EveryMinutes | None = None

    @property
    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


class CreatorBody(CreatorChange):
    sentences = {**CreatorChange.sentences, "creator": BAD_CREATOR}

    creator: str = Field(min_length=1, max_length=5000)


class CheckBody(Body):
    """`full` reads the whole listing, which closes a gap."""

    sentences = {"full": NOT_VALID}

    full: bool = False
