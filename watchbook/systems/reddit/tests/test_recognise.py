"""Adding a community by any of its forms: a preview of real posts, operators only, once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from standins.reddit import RedditSite
from watchbook.base.testing.people import alice, operator  # noqa: F401 - fixtures
from watchbook.core.accounts.models import User
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.search.models import SavedSearch
from watchbook.core.sources import recognise
from watchbook.core.sources.records import AddError, Found, Offer
from watchbook.systems.reddit.models import CommentListing, CommunityPool
from watchbook.systems.reddit.schedule import comment_requests
from watchbook.systems.reddit.tests.conftest import START

pytestmark = pytest.mark.django_db


def read(text: str) -> Found:
    found = recognise.recognise(text).found
    assert found is not None
    return found


def look(user: User, text: str) -> Offer:
    return recognise.make_offer(user, read(text))


@pytest.fixture
def post_id(site: RedditSite) -> str:
    site.world.add_community("webdev")
    return site.world.post("webdev", "A paper lantern", "Text")


def test_community_is_previewed_and_added_once(site: RedditSite, post_id: str, operator: User) -> None:  # noqa: F811
    offer = look(operator, "https://old.reddit.com/r/webdev/top")
    assert [item.title for item in offer.items] == ["A paper lantern"]
    assert (offer.can_add, CommunityPool.objects.count()) == (True, 0)
    signed = recognise.read_proof(operator, recognise.sign(operator, read("r/webdev"), offer))
    [added] = recognise.add(operator, signed, frequency=120)
    assert added.url == "/reddit/r/webdev/"
    assert CommunityPool.objects.get().tier == "high"
    assert JobRun.objects.filter(name="reddit.community").count() == 1
    assert look(operator, "r/WebDev").exists is not None
    with pytest.raises(AddError) as refused:
        recognise.add(operator, signed)
    assert refused.value.code == "exists"


def test_new_posts_of_a_community_are_notified(site: RedditSite, post_id: str, operator: User, alice: User) -> None:  # noqa: F811
    channel = NotificationChannel.objects.create(user=operator, name="desk", channel_type="email")
    offer = look(operator, "r/webdev")
    assert offer.notify == ("new",)
    signed = recognise.read_proof(operator, recognise.sign(operator, read("r/webdev"), offer))
    recognise.add(operator, signed, channels=[channel])
    assert SavedSearch.objects.get().query.startswith("in:reddit/webdev after:20")
    [instead] = look(alice, "r/webdev").instead
    assert read(instead.text).key == "in:reddit/webdev"


@pytest.mark.parametrize(("comments_each", "is_cheap"), [(3, True), (9000, False)])
def test_comments_are_offered_with_their_cost_and_ticked_where_they_are_cheap(
    site: RedditSite, operator: User, comments_each: int, is_cheap: bool, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    monkeypatch.setenv("REDDIT_DAILY_REQUEST_BUDGET", "8640")
    site.world.add_community("webdev")
    for day in range(10):
        site.world.hold_time(START + timedelta(days=day))
        site.world.post("webdev", f"Post {day}", comments=comments_each)
    before = site.log.count("/r/webdev/new")
    offer = look(operator, "r/webdev")
    assert site.log.count("/r/webdev/new") == before + 1
    posts, comments = offer.picks
    assert (posts.is_ticked, comments.value, comments.is_ticked) == (True, "comments", is_cheap)
    assert "of 8,640 in the budget" in comments.detail
    signed = recognise.read_proof(operator, recognise.sign(operator, read("r/webdev"), offer))
    recognise.add(operator, signed)
    listed = list(CommentListing.objects.values_list("community_id", "is_on"))
    assert listed == ([("r/webdev", True)] if is_cheap else [])


def test_cost_of_comments_is_that_of_the_manual() -> None:
    assert comment_requests(500, 4) == 22
    assert comment_requests(0, 4) == 6


def test_short_link_to_a_post_offers_its_community(site: RedditSite, post_id: str, operator: User) -> None:  # noqa: F811
    offer = look(operator, f"https://redd.it/{post_id}")
    assert [pick.value for pick in offer.picks] == ["r/webdev", "comments"]


def test_share_link_leads_to_its_post(site: RedditSite, post_id: str, operator: User, alice: User) -> None:  # noqa: F811
    site.shared["/r/webdev/s/AbCd1234"] = f"r/webdev/comments/{post_id}/a_paper_lantern/"
    shared = "https://www.reddit.com/r/webdev/s/AbCd1234"
    offer = look(operator, shared)
    assert offer.picks[0].value == "r/webdev"
    signed = recognise.read_proof(operator, recognise.sign(operator, read(shared), offer))
    recognise.add(operator, signed)
    run_now("reddit.community", {"community": "r/webdev"})

    known = look(operator, shared)
    assert known.exists is not None
    assert known.exists.url == f"/reddit/posts/{post_id}/"
    before = len(site.log.all())
    assert look(alice, shared).exists.url == "/reddit/r/webdev/", "a member costs no request"
    assert len(site.log.all()) == before


@pytest.mark.parametrize("answer", [404, 503, 200])
def test_share_link_that_leads_nowhere_offers_its_community(site, post_id, operator, answer) -> None:  # type: ignore[no-untyped-def] # noqa: F811
    site.faults.on("/r/webdev/s/*").answer(answer, b"")
    offer = look(operator, "reddit.com/r/webdev/s/AbCd1234")
    assert offer.picks[0].value == "r/webdev"
    assert "crawls the whole community" in read("reddit.com/r/webdev/s/AbCd1234").hints[0]


def test_member_may_not_add_and_costs_no_request(site: RedditSite, alice: User) -> None:  # noqa: F811
    assert look(alice, "r/webdev").code == look(alice, "https://redd.it/1abcd2").code == "not_allowed"
    assert site.log.all() == []


def test_unknown_community_is_refused_with_the_answer(site: RedditSite, operator: User) -> None:  # noqa: F811
    offer = look(operator, "r/not_there_at_all")
    assert not offer.can_add
    assert "Reddit did not return this community" in offer.why_not


def test_without_access_the_community_can_be_saved(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("REDDIT_CLIENT_ID", "")
    offer = look(operator, "r/webdev")
    assert (offer.can_add, offer.requests_made) == (True, 0)
    assert "Reddit access is not set up" in offer.problem
