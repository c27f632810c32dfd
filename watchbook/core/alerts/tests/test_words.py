"""Alerts in the language of each reader and of each recipient."""

from __future__ import annotations

import pytest
from django.utils import translation

from watchbook.base.testing.people import client_of, make_person
from watchbook.base.text import Sentence
from watchbook.core.alerts.conditions import open_alert, resolve_alert
from watchbook.core.alerts.models import Alert
from watchbook.core.notify import actions
from watchbook.core.notify.models import Delivery

pytestmark = pytest.mark.django_db

# Sentences that the catalogues contain.
TITLE = Sentence("Deliveries failing: %(name)s", {"name": "Hafen"})
MESSAGE = Sentence("Last response: %(error)s", {"error": "410"})
NOTE = Sentence("Test sent.")


def opened(**words) -> Alert:
    given = {"title": TITLE, "message": MESSAGE, "source": "sitemaps", **words}
    open_alert("x", level="P1", **given)
    return Alert.objects.get(key="x")


def reading(language: str):
    return client_of(make_person(f"reader-{language}", is_staff=True, language=language))


def test_alert_is_shown_in_the_language_of_the_reader():
    opened()
    resolve_alert("x", NOTE)
    kept = Alert.objects.past().get()
    assert (kept.english_title, kept.english_note) == ("Deliveries failing: Hafen", "Test sent.")
    english, chinese = (reading(language).get("/alerts/").text for language in ("en", "zh-hans"))
    for words in ("Deliveries failing: Hafen", "Test sent."):
        assert words in english
        assert words not in chinese
    assert "投递失败：Hafen" in chinese
    assert "测试通知已送达" in chinese
    assert '<span class="sub">Websites</span>' in english


def test_home_page_and_the_api_say_the_same():
    opened()
    chinese = reading("zh-hans")
    assert "投递失败：Hafen" in chinese.get("/").text
    item = chinese.get("/api/v1/alerts").json()["items"][0]
    assert (item["title"], item["message"]) == ("投递失败：Hafen", "最近一次响应：410")


def test_each_user_is_notified_in_the_own_language():
    for language in ("en", "zh-hans", ""):
        person = make_person(f"notified-{language or 'unknown'}", is_staff=True, language=language)
        email = {"email": f"{language or 'unknown'}@example.com"}
        actions.create(person, name=language or "unknown", channel_type="email", given=email, alert_level="P2")
    with translation.override("zh-hans"):
        opened()  # whatever language the one who notices it has
    subjects = dict(Delivery.objects.values_list("channel__name", "subject"))
    assert subjects == {
        "en": "[P1] Deliveries failing: Hafen",
        "zh-hans": "[P1] 投递失败：Hafen",
        "unknown": "[P1] Deliveries failing: Hafen",
    }
    texts = dict(Delivery.objects.values_list("channel__name", "text"))
    assert "最近一次响应：410" in texts["zh-hans"].splitlines()
    titles = {row["title"] for row in Delivery.objects.values_list("payload", flat=True)}
    assert titles == {"Deliveries failing: Hafen"}, "programs read the same words for every recipient"


def test_refreshed_alert_shows_the_newest_figures():
    opened()
    alert = opened(message=Sentence("Last response: %(error)s", {"error": "503"}))
    with translation.override("zh-hans"):
        assert alert.message == "最近一次响应：503"


def test_plain_words_and_rows_from_before_stay_as_they_are():
    old = Alert.objects.create(key="old", level="P2", title="Under 90 %", message="17 % of %(x)s", note="ok")
    plain = opened(message="the other side said: 100 %s")
    with translation.override("zh-hans"):
        fresh = Alert.objects.get(pk=old.pk)
        assert (fresh.title, fresh.message, fresh.note) == ("Under 90 %", "17 % of %(x)s", "ok")
        assert plain.message == "the other side said: 100 %s"


def test_sentence_whose_values_no_longer_fit_is_shown_as_it_was_written():
    alert = opened()
    alert.sentences["title"]["values"] = {"other": 1}
    alert.save()
    assert Alert.objects.get(pk=alert.pk).title == "Deliveries failing: Hafen"


def test_system_that_is_gone_is_named_as_it_was_kept():
    assert opened(source="tides").source_title == "tides"
