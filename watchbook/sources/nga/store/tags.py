"""Tags: every `[…]` group of a title, and the collection or sub-board a row carries. Never taken away again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from watchbook.sources.nga.models import TagSource, ThreadTag, ThreadTagMap
from watchbook.sources.nga.parse import TopicRecord, prefixes
from watchbook.sources.nga.store import fit

Named = tuple[str, str]
"""Source and text of a tag."""


def tags_of(record: TopicRecord, cuts: fit.Cuts) -> list[Named]:
    named = tags_of_title(record.title, cuts)
    if record.topic_tag:
        named.append((TagSource.TOPIC_TAG.value, fit.text(record.topic_tag, fit.TAG, "tag", cuts)))
    return named


def tags_of_title(title: str, cuts: fit.Cuts) -> list[Named]:
    return [(TagSource.TITLE_PREFIX.value, fit.text(text, fit.TAG, "tag", cuts)) for text in prefixes(title)]


def attach_tags(wanted: Mapping[int, Sequence[Named]], now: datetime) -> None:
    """Tags by row id of their topics. Costs one query when all are there already, and none without tags."""
    named = {tag for tags in wanted.values() for tag in tags}
    if not named:
        return
    ids = _ids(named)
    missing = [tag for tag in sorted(named) if tag not in ids]
    if missing:
        rows = [ThreadTag(tag_source=source, tag_text=text, created_at=now, updated_at=now) for source, text in missing]
        ThreadTag.objects.bulk_create(rows, ignore_conflicts=True)
        ids = _ids(named)
    maps = [
        ThreadTagMap(thread_id=thread_id, tag_id=ids[tag], first_attached_at=now)
        for thread_id, tags in wanted.items()
        for tag in dict.fromkeys(tags)
    ]
    ThreadTagMap.objects.bulk_create(maps, ignore_conflicts=True, batch_size=500)


def _ids(named: set[Named]) -> dict[Named, int]:
    rows = ThreadTag.objects.filter(tag_text__in={text for _, text in named})
    return {(row.tag_source, row.tag_text): row.pk for row in rows}
