"""A page of the web saved to the library: through the guarded client, with its pictures, and compared later."""

from __future__ import annotations

from datetime import timedelta
from io import BytesIO

import pytest
from PIL import Image

from standins.messages import Answer
from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.jobs import runner
from watchbook.core.media.models import FileReference, KeptFile
from watchbook.systems.pages import actions, options
from watchbook.systems.pages.models import WebClip
from watchbook.systems.pages.parse.article import read_article

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
API = "/api/v1/library"


def picture(colour: str = "navy") -> bytes:
    made = BytesIO()
    Image.new("RGB", (40, 30), colour).save(made, "PNG")
    return made.getvalue()


class Library:
    """A user with one space, through the API only."""

    def __init__(self, user) -> None:
        self.client = client_of(user)
        workspace = self.post("/workspaces", {"name": "Desk"}).json()
        self.space = self.post(f"/workspaces/{workspace['id']}/spaces", {"name": "Files"}).json()["id"]

    def post(self, path: str, body=None):
        return self.client.post(API + path, body or {}, content_type="application/json")

    def save(self, url: str, **more):
        return self.post("/save", {"url": url, "space_id": self.space, **more})


@pytest.fixture
def library(alice):
    return Library(alice)


@pytest.fixture
def article(site):
    site.texts.has_noise = False
    site.texts.files["/pics/pier.png"] = Answer(200, picture(), content_type="image/png")
    site.write(
        "/piers/4", title="Pier 4", paragraphs=["The lift is out of service."], pictures=("/pics/pier.png", "/gone.png")
    )
    return site.address("/piers/4")


def test_page_is_saved_with_its_text_and_pictures(library, site, article):
    saved = library.save(article)
    assert saved.status_code == 201, saved.content
    page = saved.json()
    assert page["title"] == "Pier 4"
    assert "The lift is out of service." in page["content"]
    # The menu and the footer are not part of the article, and the picture is an attachment now.
    assert "Timetables" not in page["content"]
    assert "/library/files/" in page["content"]
    assert site.address("/pics/pier.png") not in page["content"]
    files = library.client.get(f"{API}/pages/{page['id']}/files").json()["items"]
    assert [(file["type"], file["width"]) for file in files] == [("image/png", 40)]
    # A picture that does not exist stays a link to the site, and is tried again by the job.
    assert site.address("/gone.png") in page["content"]
    source = library.client.get(f"{API}/pages/{page['id']}/source").json()
    assert (source["source"], source["kind"], source["link"]) == ("pages", "web_clip", article)
    assert source["saved_version"] == source["source_version"] == WebClip.objects.get().version


def test_clip_is_valid_until_the_page_differs(library, site, article):
    page = library.save(article).json()
    before = site.log.count()
    # Looking at the clip asks nothing of the site.
    assert library.client.get(f"/library/pages/{page['id']}/").status_code == 200
    assert site.log.count() == before
    again = library.post(f"/pages/{page['id']}/source/read").json()
    assert again["has_changed"] is False
    site.write("/piers/4", paragraphs=["The lift works again."])
    answer = library.client.post(f"/library/pages/{page['id']}/source/read/")
    assert answer["Location"] == f"/library/pages/{page['id']}/source/"
    shown = library.client.get(answer["Location"]).content.decode()
    assert "works again" in shown
    updated = library.post(f"/pages/{page['id']}/source/update").json()
    assert "The lift works again." in updated["content"]
    assert library.client.get(f"{API}/pages/{page['id']}/source").json()["has_changed"] is False


@pytest.mark.parametrize(
    ("mood", "code"),
    [("wall", "wall"), ("login", "wall"), ("soft_404", "soft_404"), ("gone", "gone"), ("trouble", "server_trouble"),
     ("empty", "unreadable"), ("broken", "unreadable"), ("huge", "too_large"), ("bomb", "too_large")],
)  # fmt: skip
def test_what_is_no_page_is_refused_and_nothing_is_kept(library, site, mood, code):
    site.write("/piers/4", title="Pier 4", mood=mood)
    answer = library.save(site.address("/piers/4"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
    assert not WebClip.objects.exists()
    assert library.client.get(f"{API}/spaces/{library.space}/pages").json()["items"] == []


@pytest.mark.parametrize(
    ("url", "code"),
    [("http://169.254.169.254/latest/", "private_address"), ("http://127.0.0.1/", "private_address"),
     ("file:///etc/passwd", "bad_scheme"), ("javascript:alert(1)", "bad_scheme"),
     ("http://user:pass@example.com/", "userinfo"), ("http://example.com:22/", "bad_port"), ("", "bad_scheme")],
)  # fmt: skip
def test_address_that_is_not_allowed_is_refused(library, url, code):
    answer = library.save(url)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


def test_redirect_into_a_private_network_is_refused(library, site):
    site.add("/out")
    site.redirect("/out", "http://10.0.0.1/admin")
    answer = library.save(site.page_url("/out"))
    assert answer.json()["error"]["code"] == "private_address"


def test_picture_of_a_private_address_is_not_asked_for(library, site):
    site.write("/piers/4", title="Pier 4", paragraphs=["Words."], pictures=("http://10.0.0.1/a.png",))
    assert library.save(site.address("/piers/4")).status_code == 201
    assert not KeptFile.objects.exists()


def test_file_is_not_a_page(library, site):
    site.texts.files["/a.pdf"] = Answer(200, b"%PDF-1.4", content_type="application/pdf")
    assert library.save(site.address("/a.pdf")).json()["error"]["code"] == "not_a_page"


def test_too_many_readings_are_refused(library, site, article, monkeypatch):
    monkeypatch.setattr("watchbook.systems.pages.clip.READINGS", 1)
    assert library.save(article).status_code == 201
    assert library.save(article).status_code == 429


def test_form_asks_nothing_and_post_saves(library, site, article):
    form = "/library/save/"
    before = site.log.count()
    assert "javascript:void(open(" in library.client.get(form).content.decode()
    # The share menu of a phone names the address inside a text.
    shown = library.client.get(form, {"text": f"Look: {article}", "title": "Shared"}).content.decode()
    assert "Shared" in shown
    assert site.log.count() == before
    refused = library.client.post(form, {"url": "http://10.0.0.1/", "space": library.space, "parent": "top"})
    assert refused.status_code == 422
    assert "private network" in refused.content.decode()
    saved = library.client.post(form, {"url": article, "space": library.space, "parent": "top", "title": "Shared"})
    assert saved.status_code == 302
    page = library.client.get(saved["Location"]).content.decode()
    assert "Shared" in page
    assert "Read page again" in page
    assert "Already saved" in library.client.get(form, {"url": article}).content.decode()


def test_first_save_makes_a_workspace_only_for_a_page_that_could_be_read(site, article, bob):
    client = client_of(bob)
    places = API + "/workspaces"
    site.faults.on("/piers/*", first=1).fail()
    refused = client.post("/library/save/", {"url": article, "space": "first", "parent": "top"})
    assert refused.status_code == 422
    assert client.get(places).json()["items"] == []
    saved = client.post("/library/save/", {"url": article, "space": "first", "parent": "top"})
    assert saved.status_code == 302
    assert [one["name"] for one in client.get(places).json()["items"]] == ["My library"]


def test_reading_belongs_to_its_user(library, article, bob):
    library.save(article)
    (saved,) = WebClip.objects.all()
    from watchbook.core.stream.clip import find_clip

    assert find_clip("web_clip", str(saved.pk), saved.user).title == "Pier 4"
    assert find_clip("web_clip", str(saved.pk), bob) is None
    file = KeptFile.objects.get(state="kept")
    assert client_of(bob).get(file.path).status_code == 404


def test_readings_and_their_pictures_go_after_their_time_and_with_the_account(library, alice, article):
    library.save(article)
    with clock.set_to(clock.now() + timedelta(days=options.KEEP_CLIPS_DAYS.value + 1)):
        assert runner.run_now("pages.forget").progress["clips"] == 1
    assert (WebClip.objects.count(), FileReference.objects.count()) == (0, 0)
    library.save(article)
    actions.delete_sites(alice)
    assert (WebClip.objects.count(), FileReference.objects.count()) == (0, 0)


def test_pictures_stay_links_while_the_switch_is_off(library, site, article, monkeypatch):
    monkeypatch.setenv("PAGES_CLIP_PICTURES", "off")
    page = library.save(article).json()
    assert site.address("/pics/pier.png") in page["content"]
    assert not KeptFile.objects.filter(state="kept").exists()


def test_app_takes_shared_addresses(client):
    target = client.get("/manifest.webmanifest").json()["share_target"]
    assert target == {
        "action": "/library/save/",
        "method": "GET",
        "params": {"title": "title", "text": "text", "url": "url"},
    }


def test_markup_is_kept_with_whole_addresses():
    words = "The harbour office keeps this page up to date and answers questions by letter and at the counter. " * 3
    body = (
        "<html><head><title>T</title><base href='/deep/'></head><body><nav><a href='/'>Home</a></nav><article>"
        f"<p>{words}<a href='x.html'>more of it</a></p><h2>Times</h2><ul><li>one entry</li><li>two entries</li></ul>"
        "<pre>x = 1\n  y = 2</pre><img src='/p.png' alt='Pier'><img src='data:image/png;base64,AA'></article></body>"
    )
    found = read_article(body.encode(), "https://example.org/a/b")
    assert '<a href="https://example.org/deep/x.html">more of it</a>' in found["html"]
    assert "<h2>Times</h2><ul><li>one entry</li><li>two entries</li></ul>" in found["html"]
    assert found["pictures"] == ["https://example.org/p.png"]
    assert "data:" not in found["html"]
    assert "Home" not in found["html"]
