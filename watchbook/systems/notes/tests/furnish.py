"""Rows of the notes pipeline for the walks over all addresses, API responses and pages."""

from __future__ import annotations

from standins.note_platform.ledger import author_id
from watchbook.base import clock
from watchbook.base.files import Facts
from watchbook.base.store import blobs
from watchbook.core.accounts.models import User
from watchbook.core.media import store as media
from watchbook.core.media.models import KeptFile
from watchbook.core.media.store import Wanted
from watchbook.systems.notes import actions
from watchbook.systems.notes.actions.keywords import add_creator
from watchbook.systems.notes.models import Candidate, CommentVersion, Cookie, Creator, Note, NoteComment
from watchbook.systems.notes.tests import data


def furnish(owner: User) -> dict[str, list[str]]:
    """Fill every list of the pipeline; its paths name nothing that has to exist."""
    Cookie.objects.create(cookie_name="one", cookie_encrypted="sealed")
    keyword, _new = actions.add_keyword("Lantern", note_type="video", every_minutes=120)
    creator, _new = add_creator(author_id(3), label="Lantern desk")
    Creator.objects.update(possible_gap=True, gap_at=clock.now(), gap_count=1, last_success_at=clock.now())
    found = data.add_candidates(2)
    Candidate.objects.filter(note_id=found[1]).update(creator=creator)
    mine = data.holder()
    actions.claim(data.held(mine))
    data.commit(mine, found[0])
    media.want("notes", [Wanted("https://media.example.com/0.jpg", found[0])])
    file = KeptFile.objects.get(url="https://media.example.com/0.jpg")
    media.keep(file, blobs.put(b"made-up content"), Facts("text/plain"))
    comment = NoteComment.objects.create(note=Note.objects.get(), comment_id="c1", content="A fine walk.", version=2)
    CommentVersion.objects.create(comment=comment, number=1, content="A walk.")
    numbers = {"keyword_id": [str(keyword.pk)], "creator_id": [str(creator.pk)]}
    return {"media_id": [str(file.pk)], "note_id": [found[0]], **numbers}
