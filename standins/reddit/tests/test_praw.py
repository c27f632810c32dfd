"""The stand-in speaks Reddit's dialect: the official client, which knows nothing of us, reads it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import praw
import prawcore
import pytest

from standins.reddit import RedditSite

START = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


@pytest.fixture
def site(monkeypatch):
    with RedditSite() as made:
        # Where the product was loaded into the same process it checks every connection of such clients.
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", made.netloc)
        made.world.hold_time(START)
        made.world.add_community("webdev")
        yield made


def client(site, secret="made-up-secret"):
    return praw.Reddit(
        client_id="made-up-client",
        client_secret=secret,
        user_agent="test:watchbook-standin:1 (by /u/made-up)",
        oauth_url=site.url,
        reddit_url=site.url,
        check_for_updates=False,
        check_for_async=False,
    )


def fill(site, count):
    return [site.world.post("webdev", f"Lantern {number}", f"Text {number}") for number in range(count)]


def test_client_signs_in_once_and_reads_a_listing(site):
    made = fill(site, 30)
    reddit = client(site)
    posts = list(reddit.subreddit("webdev").new(limit=10))
    assert [post.id for post in posts] == made[::-1][:10]
    assert posts[0].selftext == "Text 29"
    assert posts[0].created_utc == START.timestamp()
    assert posts[0].author.name == "made-up-reader"
    assert site.log.count("/api/v1/access_token") == 1


def test_client_reads_pages_up_to_the_limit(site):
    fill(site, 1250)
    posts = list(client(site).subreddit("webdev").new(limit=None))
    assert len(posts) == len({post.id for post in posts}) == 1000
    assert site.log.count("/r/webdev/new") == 10  # asked for 1024 a page, given 100


def test_client_reads_top_by_score_and_time(site):
    first, second, third = fill(site, 3)
    site.world.vote(second, 500)
    site.world.vote(third, 50)
    top = client(site).subreddit("webdev").top(time_filter="day")
    assert [post.id for post in top] == [second, third, first]
    site.world.hold_time(START + timedelta(days=2))
    assert list(client(site).subreddit("webdev").top(time_filter="day")) == []


def test_hot_listing_adds_stickies_to_a_full_page(site):
    made = fill(site, 120)
    site.world.sticky(made[0])
    hot = list(client(site).subreddit("webdev").hot(limit=100))
    assert hot[0].id == made[0]
    page = site.log.last("/r/webdev/hot")
    assert page.params["limit"] == "100"


def test_client_reads_posts_by_id(site):
    made = fill(site, 130)
    site.world.remove(made[0])
    site.world.delete(made[1])
    found = {post.id: post for post in client(site).info(fullnames=[f"t3_{key}" for key in [*made, "zzzzzz"]])}
    assert len(found) == 130  # an unknown one is just not there
    assert (found[made[0]].selftext, found[made[0]].removed_by_category) == ("[removed]", "moderator")
    assert (found[made[1]].selftext, found[made[1]].author) == ("[deleted]", None)


def test_restored_post_returns_to_its_position(site):
    made = fill(site, 5)
    site.world.remove(made[2])
    reddit = client(site)
    assert [post.id for post in reddit.subreddit("webdev").new()] == [made[n] for n in (4, 3, 1, 0)]
    site.world.restore(made[2])
    assert [post.id for post in reddit.subreddit("webdev").new()] == made[::-1]


def test_late_approved_post_enters_at_the_top(site):
    late = site.world.post("webdev", "Held back", filtered=True)
    fill(site, 3)
    site.world.hold_time(START + timedelta(hours=7))
    site.world.approve(late)
    first = next(iter(client(site).subreddit("webdev").new()))
    assert (first.id, first.created_utc) == (late, START.timestamp())


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        ("private", prawcore.Forbidden, "private"),
        ("quarantined", prawcore.Forbidden, "quarantined"),
        ("forbidden", prawcore.Forbidden, None),
        ("banned", prawcore.NotFound, "banned"),
    ],
)
def test_refused_communities_raise_errors(site, status, error, reason):
    site.world.set_status("webdev", status)
    with pytest.raises(error) as caught:
        list(client(site).subreddit("webdev").new())
    assert caught.value.response.json().get("reason") == reason


def test_unknown_name_redirects_to_search(site):
    with pytest.raises(prawcore.Redirect):
        list(client(site).subreddit("nowhere").new())


def test_throttling_walls_and_wrong_secret_raise_errors(site):
    site.mishaps.throttle = 1
    with pytest.raises(prawcore.TooManyRequests):
        list(client(site).subreddit("webdev").new())
    site.mishaps.throttle, site.mishaps.wall_200 = 0, 1
    with pytest.raises(prawcore.BadJSON):
        list(client(site).subreddit("webdev").new())
    with pytest.raises(prawcore.ResponseException):
        list(client(site, secret="wrong").subreddit("webdev").new())


def test_expired_token_returns_401(site):
    fill(site, 1)
    reddit = client(site)
    assert len(list(reddit.subreddit("webdev").new())) == 1
    site.expire_tokens()
    assert len(list(reddit.subreddit("webdev").new())) == 1
    assert site.log.count("/api/v1/access_token") == 2


def test_rate_headers_are_read(site):
    reddit = client(site)
    list(reddit.subreddit("webdev").new())
    assert reddit.auth.limits["used"] == 1
    assert reddit.auth.limits["remaining"] == 995.0


def test_client_reads_comments_with_their_thread(site):
    (post,) = fill(site, 1)
    made = [site.world.comment(post, f"Comment {number}") for number in range(120)]
    answer = site.world.comment(post, "An answer", parent=made[0])
    first, *others = list(client(site).subreddit("webdev").comments(limit=None))
    assert [comment.id for comment in (first, *others)] == [answer, *made[::-1]]
    assert (first.parent_id, first.link_id, first.link_title) == (f"t1_{made[0]}", f"t3_{post}", "Lantern 0")
    assert others[0].body == "Comment 119"
