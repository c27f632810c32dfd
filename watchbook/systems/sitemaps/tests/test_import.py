"""Many monitors: import with a report by line, export, folders and tags, bulk edit, schedules and quiet hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from watchbook.base import clock
from watchbook.base.invalid import InvalidInput
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.parse.imports import InvalidFile, read_file
from watchbook.systems.sitemaps.schedules import InvalidSchedule, outside_quiet, parse_quiet, parse_schedule
from watchbook.systems.sitemaps.tests.builders import START, body, browser, make_monitor

OPML = b"""<?xml version="1.0"?><!DOCTYPE opml [<!ENTITY a SYSTEM "file:///etc/passwd">]>
<opml version="2.0"><body><outline text="Shops"><outline text="Lanterns &a;" xmlUrl="https://a.example.com/feed"
category="seo,shop"/></outline><outline title="News" xmlUrl="https://b.example.com/rss"/></body></opml>"""


class TestFiles:
    @pytest.mark.parametrize("head", ["url;name;group", "XML URL\tTitle\tFolder", "Address,name,category"])
    def test_common_heads_are_read(self, head: str) -> None:
        mark = next(mark for mark in "\t;," if mark in head)
        text = f"\ufeff{head}\n{mark.join(['https://example.com/sitemap.xml', '灯塔', 'Shops'])}\n"
        (row,) = read_file(text.encode())
        assert row.values == {"sitemap_url": "https://example.com/sitemap.xml", "name": "灯塔", "folder": "Shops"}
        assert read_file(text.removeprefix("\ufeff").encode("gb18030"))[0].values["name"] == "灯塔"

    def test_unknown_columns_are_refused_by_name(self) -> None:
        with pytest.raises(InvalidFile) as refused:
            read_file(b"url,colour,name,size\nhttps://example.com/,red,A,1\n")
        assert refused.value.columns == ("colour", "size")

    def test_columns_that_mean_the_same_are_refused_by_name(self) -> None:
        with pytest.raises(InvalidFile) as refused:
            read_file(b"url,name,Address\nhttps://a.example.com/,A,https://b.example.com/\n")
        assert (refused.value.code, refused.value.columns) == ("repeated", ("sitemap_url",))

    @pytest.mark.parametrize(
        ("code", "text"),
        [
            ("empty", b" \n"),
            ("no_address", b"name\nA\n"),
            ("not_xml", b"<html></html>"),
            ("not_xml", b"<opml><body>" + b"<outline xmlUrl=https://a.example.com/>\n" * 60),
            ("too_large", b"a" * 2_000_001),
        ],
    )
    def test_file_that_cannot_be_read_says_why(self, code: str, text: bytes) -> None:
        with pytest.raises(InvalidFile) as refused:
            read_file(text)
        assert refused.value.code == code

    def test_opml_has_folders_and_tags_and_reads_no_entity(self) -> None:
        first, second = (row for row in read_file(OPML) if row.values)
        assert first.values["folder"] == "Shops"
        assert (first.values["tags"], second.values) == (
            "seo,shop", {"sitemap_url": "https://b.example.com/rss", "name": "News"},
        )  # fmt: skip
        assert "root:" not in first.values["name"]


class TestSchedules:
    @pytest.mark.parametrize(
        ("text", "cron"),
        [("weekly mon 09:00", "0 9 * * 1"), ("daily 7:30", "30 7 * * *"), ("*/15 * * * *", "*/15 * * * *"), ("", "")],
    )
    def test_schedule_is_a_cron_line(self, text: str, cron: str) -> None:
        assert parse_schedule(text) == cron

    @pytest.mark.parametrize("text", ["* * * * *", "*/5 * * * *", "0 0 31 2 *", "weekly", "daily 25:00", "1 2 3"])
    def test_other_schedules_are_refused(self, text: str) -> None:
        with pytest.raises(InvalidSchedule):
            parse_schedule(text)

    def test_quiet_hours_move_a_check_to_their_end(self) -> None:
        quiet = parse_quiet("22:00 - 7:00")
        night, day = datetime(2026, 3, 2, 18, 30, tzinfo=UTC), datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
        assert outside_quiet(night, quiet) == datetime(2026, 3, 2, 23, 0, tzinfo=UTC)
        assert outside_quiet(day, quiet) == day
        with pytest.raises(InvalidSchedule):
            parse_quiet("22-7")

    @pytest.mark.django_db
    def test_check_is_planned_by_schedule_and_quiet_hours(self, watch, site) -> None:
        site.add("/a")
        watched = watch()
        actions.change_monitor(watched.monitor, {"schedule": "weekly mon 03:00", "quiet_hours": "01:00-05:00"})
        watched.check()
        planned = watched.monitor.next_check_at.astimezone(clock.SHANGHAI)
        assert (planned.weekday(), f"{planned:%H:%M}") == (0, "05:00")
        assert MonitorTask.objects.far_ahead(watched.now - timedelta(days=3)).count() == 0
        with pytest.raises(InvalidInput):
            actions.change_monitor(watched.monitor, {"schedule": "* * * * *"})


@pytest.mark.django_db
class TestMany:
    def test_500_lines_are_imported_with_a_report_by_line(self, alice) -> None:
        make_monitor(alice, sitemap_url="https://example.com/7.xml")
        lines = [f"https://example.com/{n}.xml,Shop {n},Shops,30" for n in range(500)]
        lines[3], lines[4] = "ftp://example.com/x,A,B,30", "https://example.com/4.xml,A,B,3"
        text = "url,name,folder,interval\n" + "\n".join(lines) + "\n"
        with clock.set_to(START):
            answer = browser(alice).post("/api/v1/sitemaps/import", {"text": text}, "application/json").json()
        assert (answer["added"], answer["known"], answer["refused"]) == (497, 1, 2)
        refused = {line["line"]: line["reason"] for line in answer["lines"] if line["result"] == "refused"}
        assert set(refused) == {5, 6}
        assert refused[6] == "Choose 15 to 1440 minutes."
        found = MonitorTask.objects.of(alice).get(sitemap_url="https://example.com/9.xml")
        assert (found.name, found.folder, found.check_interval_minutes) == ("Shop 9", "Shops", 30)

    def test_line_with_surplus_values_or_a_second_time_is_reported(self, alice) -> None:
        """A comma inside a name moves all values behind it: such a line is refused, not read in part."""
        lines = ["https://a.example.com/,Lamps, big,30", "https://b.example.com/,B,30,,", "https://b.example.com/,B,30"]
        text = "url,name,interval\n" + "\n".join(lines) + "\n"
        answer = browser(alice).post("/api/v1/sitemaps/import", {"text": text}, "application/json").json()
        assert (answer["added"], answer["known"], answer["refused"]) == (1, 1, 1)
        assert [(line["line"], line["result"]) for line in answer["lines"]] == [
            (2, "refused"), (3, "added"), (4, "known"),
        ]  # fmt: skip
        assert answer["lines"][0]["reason"] == "The line has more values than there are columns."
        page = browser(alice).post("/sitemaps/import/", {"file": SimpleUploadedFile("a.csv", text.encode())})
        assert "The line has more values than there are columns." in page.text
        twice = SimpleUploadedFile("a.csv", b"url,link\nhttps://c.example.com/,x\n")
        refused = browser(alice).post("/sitemaps/import/", {"file": twice})
        assert "Several columns mean the same: sitemap_url" in refused.text

    @pytest.mark.parametrize(
        ("text", "results", "words"),
        [
            ('url,name\nhttps://a.example.com/,A\n"https://b.example.com/,B\nhttps://c.example.com/,C\n',
             [(2, "added"), (3, "refused")], "A quotation mark is missing or misplaced."),
            ("url\nhttps://a.example.com/\nhttps://b.example.com/\x00x\nhttps://b.example.com/\x07\n",
             [(2, "added"), (3, "refused"), (4, "refused")], "invisible character"),
            ("<opml><body>\n<outline xmlUrl='https://a.example.com/'/>\n<outline text='B' xmlUrl='https://b.example.com/",
             [(2, "added"), (3, "refused")], "The line is damaged."),
            ("<opml><body>\n<outline xmlUrl='https://a.example.com/?b&c'/>\n<outline xmlUrl='https://b.example.com/'/>\n"
             "</body></opml>", [(2, "refused"), (3, "added")], "The line is damaged."),
            ("<opml><body>\n<outline text='A' htmlUrl='https://a.example.com/'/>\n<outline text='Empty'/>"
             "</body></opml>",
             [(2, "refused")], "The line has no address."),
            ("<opml><body>" + "<outline text='x'>" * 25 + "\n<outline xmlUrl='https://a.example.com/'/>"
             + "</outline>" * 25 + "</body></opml>", [(1, "refused")], "The line has no address."),
        ],
        ids=["open quote", "control characters", "cut XML", "bare ampersand", "no address", "too deep"],
    )  # fmt: skip
    def test_line_that_cannot_be_read_is_named(self, alice, text, results, words) -> None:
        lines = actions.import_monitors(alice, read_file(text.encode()))
        assert [(line.line, line.result) for line in lines] == results
        assert any(words in line.reason for line in lines)

    def test_limit_of_the_operator_holds_for_imports(self, alice, monkeypatch) -> None:
        monkeypatch.setenv("SITEMAPS_MONITORS_PER_USER", "2")
        rows = read_file(b"url\nhttps://a.example.com/\nhttps://b.example.com/\nhttps://c.example.com/\n")
        assert [line.result for line in actions.import_monitors(alice, rows)] == ["added", "added", "refused"]

    def test_export_can_be_imported_again(self, alice, bob) -> None:
        made = make_monitor(alice, sitemap_url="https://example.com/sitemap.xml")
        actions.change_monitor(made, {"folder": "Shops", "tags": ["SEO", "shop, big"], "notes": "=1+1", "owner": "Ann"})
        text = body(browser(alice).get("/sitemaps/?format=csv"))
        opml = browser(alice).get("/sitemaps/monitors.opml").content
        file = SimpleUploadedFile("monitors.csv", text.encode())
        page = browser(bob).post("/sitemaps/import/", {"file": file})
        assert "1 added, 0 already monitored, 0 refused" in " ".join(page.text.split())
        (copy,) = MonitorTask.objects.of(bob)
        assert (copy.folder, copy.tag_list, copy.notes, copy.owner) == ("Shops", ["seo", "shop big"], "=1+1", "Ann")
        (row,) = read_file(opml)
        assert (row.values["folder"], row.values["tags"]) == ("Shops", "seo,shop big")
        wrong = SimpleUploadedFile("monitors.csv", b"url,colour\n")
        assert "Unknown columns: colour" in browser(bob).post("/sitemaps/import/", {"file": wrong}).text

    def test_many_are_edited_together_or_none(self, alice, bob) -> None:
        made = [make_monitor(alice, sitemap_url=f"https://example.com/{n}.xml") for n in range(3)]
        actions.change_monitor(made[0], {"tags": "old,kept"})
        page = {"act": "edit", "pk": [str(one.pk) for one in made[:2]], "folder": "Shops", "add_tags": "seo",
                "remove_tags": "old"}  # fmt: skip
        browser(alice).post("/sitemaps/bulk/", page)
        rows = MonitorTask.objects.of(alice).order_by("sitemap_url")
        assert [(one.folder, one.tag_list) for one in rows] == [
            ("Shops", ["kept", "seo"]), ("Shops", ["seo"]), ("", []),
        ]  # fmt: skip
        found = browser(alice).get("/api/v1/sitemaps/monitors?tag=seo&folder=Shops").json()["items"]
        assert len(found) == 2
        ids = [str(one.pk) for one in made]
        wrong = {"ids": ids, "folder": "X", "schedule": "* * * * *"}
        assert browser(alice).post("/api/v1/sitemaps/bulk", wrong, "application/json").status_code == 422
        assert browser(bob).post("/api/v1/sitemaps/bulk", {"ids": ids}, "application/json").status_code == 422
        assert not MonitorTask.objects.filter(folder="X").exists()
