from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from django import forms
from django.template import Context, Template
from django.template.loader import render_to_string
from django.utils import timezone, translation

from watchbook.kit import badges, charts, diff
from watchbook.kit.formatting import asset_url

ROOM = Path(badges.__file__).parent
NAMES = set(re.findall(r'<symbol id="([\w-]+)"', (ROOM / "static/kit/icons.svg").read_text()))


def draw(source, /, **context):
    return Template(source).render(Context(context))


def test_every_icon_of_the_platform_is_in_the_sprite():
    wanted = {badge.shape for words in badges.VOCABULARY.values() for badge in words.values() if badge.shape}
    package = ROOM.parents[1]
    for page in package.rglob("templates/**/*.html"):
        wanted |= set(re.findall(r'{%\s*(?:icon|nothing)\s+"([\w-]+)"', page.read_text()))
    assert wanted <= NAMES, wanted - NAMES


def test_icon_is_silent_unless_it_has_a_label():
    assert 'aria-hidden="true"' in draw('{% icon "bell" %}')
    assert 'role="img" aria-label="&lt;b&gt;"' in draw('{% icon "bell" label %}', label="<b>")


def test_asset_address_changes_with_its_content():
    assert re.search(r"/kit/tokens\.css\?v=[0-9a-f]{8}$", asset_url("kit/tokens.css"))
    assert asset_url("kit/none.css").endswith("/kit/none.css")


def test_badge_has_word_shape_and_tone():
    html = draw('{% state_badge "job" state %}', state="running")
    assert "badge--info" in html
    assert "#s-work" in html
    assert "Running" in html
    assert draw('{% badge "off" "s-off" text %}', text="<i>").startswith('<span class="badge"><svg')
    assert "&lt;i&gt;" in draw('{% badge "ok" "" text %}', text="<i>")


def test_same_word_is_translated_by_its_vocabulary():
    with translation.override("zh-hans"):
        words = [draw(f'{{% state_badge "{name}" "pending" %}}')[-14:] for name in ("delivery", "candidate", "job")]
        assert [word.removesuffix("</span>").split(">")[-1] for word in words] == ["待发送", "待处理", "排队中"]


def test_unknown_state_shows_its_own_name():
    assert draw('{% state_badge "job" state %}', state="<odd>") == '<span class="badge">&lt;odd&gt;</span>'
    assert draw('{% state_badge "job" "" %}') == ""


@pytest.mark.parametrize("vocabulary", badges.VOCABULARY)
def test_tones_are_known(vocabulary):
    assert {badge.tone for badge in badges.VOCABULARY[vocabulary].values()} <= {"", "ok", "warn", "bad", "info"}


def test_gaps_and_edits_are_counted():
    assert str(badges.gaps(5).text) == "5 gaps"
    assert str(badges.edited(1).text) == "Edited"
    assert str(badges.edited(3).text) == "Edited 3 times"


def test_time_carries_the_whole_instant(noon):
    with timezone.override("Asia/Shanghai"):
        html = draw("{% when moment %}", moment=noon)
    assert 'datetime="2026-03-02T12:00:00+08:00"' in html
    assert 'title="2026-03-02 12:00:00 Asia/Shanghai (+0800)"' in html
    assert html.endswith(">2 Mar 12:00</time>")


def test_no_time_is_said_and_not_drawn_as_a_time():
    assert draw("{% when None %}") == '<span class="muted">–</span>'
    assert draw('{% when None empty="never" %}') == '<span class="muted">never</span>'
    assert draw("{% when day %}", day=date(2025, 1, 2)) == '<time datetime="2025-01-02">2 Jan 2025</time>'


def test_delta_leaves_out_what_is_nothing():
    html = draw("{% delta 1412 9 0 %}")
    assert "+1,412" in html
    assert "−9" in html
    assert "~" not in html
    assert ">0<" in draw("{% delta 0 0 %}")


def test_foreign_script_is_marked():
    assert draw("{% lang_of text %}", text="新手渔夫") == ' lang="zh-Hans"'
    assert draw("{% lang_of text %}", text="Harbour") == ""
    with translation.override("zh-hans"):
        assert draw("{% lang_of text %}", text="Harbour") == ' lang="en"'


def test_evidence_and_nothing_wrap_their_content():
    assert re.match(
        r'<p class="evidence"><svg.*</svg><span>x</span></p>$', draw("{% evidence %}<span>x</span>{% endevidence %}")
    )
    html = draw('{% for x in none %}{% endfor %}{% nothing "bell" title 3 %}<p>y</p>{% endnothing %}', title="<t>")
    assert "<h3>&lt;t&gt;</h3><p>y</p></div>" in html


def test_part_disappears_with_its_block():
    assert draw('{% part "nav" class="tabs" %}  {% endpart %}') == ""
    assert draw('{% part "nav" class="tabs" label="L" %} <a>x</a> {% endpart %}') == (
        '<nav class="tabs" aria-label="L"><a>x</a></nav>'
    )
    own = '<p class="evidence"><span>x</span></p>'
    assert draw(f'{{% part "p" class="evidence" icon="clock" %}}{own}{{% endpart %}}') == own


def test_chart_shows_head_drawings_evidence_and_table():
    drawn = charts.bars([date(2026, 3, 1)] * 3, [charts.Series("<A>", [1, None, 3])], label="x")
    html = draw('{% chart drawn "Title" "30 days" short="15 days" %}<span>now</span>{% endchart %}', drawn=drawn)
    assert html.count("<svg") - html.count('aria-hidden="true"') == 3
    assert "<span>now</span>" in html
    assert "&lt;A&gt;" in html
    assert '<span class="muted for-narrow">15 days</span>' in html
    assert "first check" in draw('{% chart None "T" none="Wait for the first check." %}{% endchart %}')


class Sample(forms.Form):
    address = forms.URLField(assume_scheme="https", help_text="About 12 requests a day.")
    note = forms.CharField(widget=forms.Textarea, required=False)
    pace = forms.ChoiceField(choices=[("2", "2 hours")])
    loud = forms.BooleanField(required=False)
    kind = forms.ChoiceField(choices=[("a", "A")], widget=forms.RadioSelect)
    secret = forms.CharField(widget=forms.HiddenInput, required=False)


def test_field_ties_label_note_and_error_to_its_control():
    form = Sample({"address": '"><script>', "pace": "2", "kind": "a"})
    html = draw("{% form_errors form %}{% field form.address %}", form=form)
    assert 'role="alert"' in html
    assert '<a href="#id_address">Address</a>' in html
    assert 'aria-describedby="id_address_error id_address_note"' in html
    assert 'aria-invalid="true"' in html
    assert "<script>" not in html


def test_nothing_is_red_before_it_was_sent():
    html = draw("{% form_errors form %}{% for one in form %}{% field one %}{% endfor %}", form=Sample())
    assert "aria-invalid" not in html
    assert "notice" not in html
    assert 'class="textarea"' in html
    assert 'class="select"' in html
    assert '<label class="check"><input type="checkbox"' in html
    assert "<legend>Kind</legend>" in html
    assert '<input type="hidden" name="secret" id="id_secret">' in html


def test_difference_is_drawn_with_escaped_segments():
    found = diff.compare("one <b>\nsame", "two <b>\nsame")
    html = render_to_string("kit/_diff.html", {"diff": found, "old": "Version 1", "new": "version 2", "lang": "en"})
    assert "<p><del>one</del><ins>two</ins> &lt;b&gt;</p>" in html
    assert "1 paragraph unchanged" in html
    assert "+3 characters" in html


def test_too_large_difference_says_so():
    html = render_to_string(
        "kit/_diff.html", {"diff": diff.Difference(is_too_large=True, added=1), "old": "1", "new": "2"}
    )
    assert "too large to compare" in html


def test_ago_is_a_time_element(noon):
    assert ">2 h ago</time>" in draw("{% ago moment %}", moment=noon - timedelta(hours=2))
    assert datetime(2026, 3, 2, 4, tzinfo=UTC) == noon


def test_address_is_shown_as_people_read_it_unless_it_hides_something():
    assert draw("{{ url|readable }}", url="https://example.com/%E6%96%B0%E9%97%BB?a=%20%3F") == (
        "https://example.com/新闻?a=%20%3F"
    )
    assert (
        draw("{{ url|readable }}", url="https://example.com/%E2%80%AEfdp.exe") == "https://example.com/%E2%80%AEfdp.exe"
    )
    assert draw("{{ url|readable }}", url="https://example.com/%3Cb%3E%FF") == "https://example.com/%3Cb%3E%FF"
