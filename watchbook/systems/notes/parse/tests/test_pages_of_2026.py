"""Note pages as the platform has served them since August 2026: `new Map`, new stream keys, previews only."""

from __future__ import annotations

import json
import time

import pytest

from watchbook.systems.notes.parse.documents import DEEPEST, PlatformRefusal, read_initial_state
from watchbook.systems.notes.parse.note import parse_card, parse_page
from watchbook.systems.notes.parse.records import InvalidNoteAddress, parse_note_url

NOTE = "66696f98000000000000abcd"
CDN = "https://sns-video-bd.xhscdn.com"


def page(card, *, form="map", before=""):
    """A page whose note is held in a Map (form "map"), a plain object, or the phone form."""
    text = json.dumps({"noteId": NOTE, **card}, ensure_ascii=False)
    entry = f'{{"note":{text},"comments":undefined}}'
    if form == "phone":
        state = f'{{"noteData":{{"data":{{"noteData":{text}}}}}}}'
    else:
        notes = f'new Map([["{NOTE}",{entry}]])' if form == "map" else f'{{"{NOTE}":{entry}}}'
        state = f'{{{before}"seen":new Set(["a",1]),"note":{{"noteDetailMap":{notes}}}}}'
    return f"<html><script>window.__INITIAL_STATE__={state};(function(){{}})()</script></html>"


def state(text):
    return read_initial_state(f"window.__INITIAL_STATE__={text}</script>")


@pytest.mark.parametrize("form", ["map", "object", "phone"])
def test_page_with_map_or_phone_form_is_read(form):
    found = parse_page(page({"title": "new Map([]) in a title", "desc": "灯会"}, form=form), NOTE)
    assert (found.title, found.content, found.skipped) == ("new Map([]) in a title", "灯会", ())


@pytest.mark.parametrize(
    ("text", "document", "unknown"),
    [
        ('{"a":new Map([["k",{"x":1}],["l",new Set([1,2])]])}', {"a": {"k": {"x": 1}, "l": [1, 2]}}, 0),
        ('{"a":new Map,"b":new Set(),"c":new Date("2026-08-01"),"d":new URL("https://e.example/")}',
         {"a": {}, "b": [], "c": "2026-08-01", "d": "https://e.example/"}, 0),
        ('{"a":new Proxy({b:1},{}),"c":1}', {"a": None, "c": 1}, 1),
        ('{"f":function(a,b){return {x:"}"}},"g":(a)=>{return [a]},"h":x=>x+1,"i":2}',
         {"f": None, "g": None, "h": None, "i": 2}, 3),
        ('{"a":[1,2,],"b":{"c":1,},}', {"a": [1, 2], "b": {"c": 1}}, 0),
        ("{a:'it\\'s',b:!0,c:!1,d:void 0,$e:-1.5e3,7:undefined,g:-Infinity}",
         {"a": "it's", "b": True, "c": False, "d": None, "$e": -1500.0, "7": None, "g": None}, 0),
        ('{"a":"new Map([1])","b":new Set(["undefined"])}', {"a": "new Map([1])", "b": ["undefined"]}, 0),
    ],
)  # fmt: skip
def test_javascript_values_are_read_and_unknown_ones_counted(text, document, unknown):
    found = state(text)
    assert (found.document, found.unknown) == (document, unknown)


def test_unknown_value_in_page_is_listed_and_note_kept():
    found = parse_page(page({"title": "Lantern"}, before='"x":new Proxy({}),'), NOTE)
    assert (found.title, found.skipped) == ("Lantern", ("state: 1",))


def test_state_nested_too_deeply_is_refused():
    with pytest.raises(PlatformRefusal, match="not_readable"):
        state('{"a":new Set(' + "[" * (DEEPEST + 10) + "])}")


def test_large_state_is_read_in_seconds():
    text = '{"a":new Map([' + ",".join(f'["{n}",{{"v":[1,"x",null]}}]' for n in range(40_000)) + "])}"
    began = time.monotonic()
    assert len(state(text).document["a"]) == 40_000
    assert time.monotonic() - began < 20


def test_restricted_page_needs_login():
    empty = '{"note":{"noteDetailMap":new Map([]),"serverRequestInfo":{"state":"success"}}}'
    with pytest.raises(PlatformRefusal, match="login_required"):
        parse_page(f"window.__INITIAL_STATE__={empty}</script>", NOTE)


def card_with(streams, **video):
    return parse_card({"type": "video", "video": {"media": {"stream": streams}, **video}}, NOTE)


@pytest.mark.parametrize("key", ["h264", "EF4", "EF5", "H264", "h_264", "a key of next year"])
def test_video_is_read_under_any_stream_key(key):
    [video] = card_with({key: [{"masterUrl": "https://v.example/a.mp4", "height": 720}]}).media
    assert (video.kind, video.url, video.height) == ("video", "https://v.example/a.mp4", 720)


def test_video_with_only_backup_urls_is_read():
    [video] = card_with({"h265": [{"backup_urls": ["", "//v.example/b.mp4"], "duration": 1200}]}).media
    assert (video.url, video.duration_ms) == ("https://v.example/b.mp4", 1200)


@pytest.mark.parametrize("name", ["origin_video_key", "originVideoKey"])
def test_video_with_only_its_key_is_read(name):
    [video] = card_with({}, consumer={name: "pre_post/1040g.mp4"}, capa={"duration": 12}).media
    assert (video.url, video.duration_ms) == (f"{CDN}/pre_post/1040g.mp4", 12_000)


def test_best_of_several_qualities_is_taken():
    streams = {
        "h264": [{"master_url": "https://v.example/480", "height": 480, "avg_bitrate": 9000},
                 {"master_url": "https://v.example/1080", "height": 1080, "avg_bitrate": 1500}],
        "EF5": [{"master_url": "https://v.example/1080hi", "height": 1080, "avg_bitrate": 4000}],
    }  # fmt: skip
    assert [one.url for one in card_with(streams).media] == ["https://v.example/1080hi"]


def test_unusable_stream_is_listed():
    found = card_with({"EF9": [{"path": "x"}], "h264": [{"master_url": "https://v.example/a"}]})
    assert ([one.url for one in found.media], found.skipped) == (["https://v.example/a"], ("video stream EF9",))
    assert card_with({"EF9": [{"path": "x"}]}).skipped == ("video stream EF9", "video")


@pytest.mark.parametrize("image", [
    {"info_list": [{"image_scene": "WB_PRV", "url": "https://p.example/1.jpg"}]},
    {"infoList": [{"imageScene": "WB_PRV", "url": "//p.example/1.jpg"}]},
    {"url_pre": "https://p.example/1.jpg"},
    {"url": "//p.example/1.jpg"},
])  # fmt: skip
def test_picture_with_preview_only_is_kept(image):
    assert [one.url for one in parse_card({"image_list": [image]}, NOTE).media] == ["https://p.example/1.jpg"]


def test_full_picture_goes_before_preview():
    infos = [
        {"image_scene": "WB_PRV", "url": "https://p.example/s"},
        {"image_scene": "WB_DFT", "url": "https://p.example/l"},
    ]
    assert [one.url for one in parse_card({"image_list": [{"info_list": infos}]}, NOTE).media] == [
        "https://p.example/l"
    ]


def test_live_photo_keeps_picture_and_stream():
    image = {"url_default": "https://p.example/1.jpg", "file_id": "f1", "live_photo": True,
             "stream": {"h264": [{"master_url": "https://v.example/live.mp4"}]}}  # fmt: skip
    media = parse_card({"image_list": [image]}, NOTE).media
    assert [(one.kind, one.url, one.file_id) for one in media] == [
        ("image", "https://p.example/1.jpg", "f1"), ("live_photo", "https://v.example/live.mp4", "f1"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", [
    f"https://www.example.com/search_result/{NOTE}?xsec_token=AB1=",
    f"78 灯会 发布了一篇笔记，快来看吧！ https://www.example.com/discovery/item/{NOTE}?xsec_token=AB1= 复制本条信息",
])  # fmt: skip
def test_share_text_and_search_link_name_their_note(text):
    found = parse_note_url(text)
    assert (found.note_id, found.xsec_token) == (NOTE, "AB1=")


def test_short_link_is_refused():
    with pytest.raises(InvalidNoteAddress):
        parse_note_url("http://xhslink.com/a/abc")
