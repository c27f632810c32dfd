"""S1 to S35: one odd thing at a time."""

from __future__ import annotations

from standins.sitemap_cases.case import Case, Wanted, case
from standins.sitemap_cases.files import (
    ABC,
    BASE,
    CUT,
    DECLARATION,
    IMAGES,
    XHTML,
    A,
    B,
    C,
    gz,
    index,
    lines,
    packed,
    page,
    plain,
    redirect,
    three,
    url,
    urlset,
    xml,
)

THREE = Wanted(count=3, urls=ABC)
CLEAN = Wanted(count=3, urls=ABC, noted=False)
NOTED = Wanted(count=3, urls=ABC, noted=True)
CUT_SHORT = Wanted(complete=False)
NOT_A_SITEMAP = Wanted(count=0, complete=False, failure="not_a_sitemap")
PICTURE = "<image:image><image:loc>https://e.com/picture.jpg</image:loc></image:image>"
WARNING = "<br />\n<b>Warning</b>:  date(): no time zone set in <b>/srv/site.php</b> on line <b>12</b><br />\n"
GOOD = xml(BASE, "good.xml")
RSS = (
    DECLARATION
    + '<rss version="2.0"><channel><title>News</title><link>https://e.com/</link>'
    + "".join(f"<item><title>x</title><link>{link}</link></item>" for link in ABC)
    + "</channel></rss>"
)


def _encoding(name: str) -> str:
    return f'<?xml version="1.0" encoding="{name}"?>\n'


PACKING: tuple[Case, ...] = (
    case("S1", "three pages, nothing odd", CLEAN, xml(BASE)),
    case("S2", "gzip file under its right name and type", CLEAN, gz(packed(BASE))),
    case("S3", "plain XML under the name .xml.gz", THREE, xml(BASE, "sitemap.xml.gz")),
    case("S4", "gzip once, sent as an encoding", THREE, gz(packed(BASE), headers={"Content-Encoding": "gzip"})),
    case(
        "S5", "gzip twice, one of them as an encoding", THREE, gz(packed(BASE, 2), headers={"Content-Encoding": "gzip"})
    ),
    case("S6", "plain text after the gzip stream", NOTED, gz(packed(BASE) + b"<!-- cached by X -->")),
)

SPELLING: tuple[Case, ...] = (
    case("S7", "UTF-8 with byte order mark", THREE, xml(b"\xef\xbb\xbf" + BASE.encode())),
    case(
        "S8",
        "UTF-16 with byte order mark",
        THREE,
        xml(urlset(*three(), declaration=_encoding("UTF-16")).encode("utf-16")),
    ),
    case(
        "S9",
        "declared and true ISO-8859-1",
        Wanted(count=3, urls=("https://e.com/é", B, C)),
        xml(urlset(*three("https://e.com/é"), declaration=_encoding("ISO-8859-1")).encode("latin-1")),
    ),
    case("S10", "no namespace", THREE, xml(urlset(*three(), namespace=None))),
    case(
        "S11", "an old namespace", THREE, xml(urlset(*three(), namespace="http://www.google.com/schemas/sitemap/0.84"))
    ),
    case(
        "S12",
        "namespace with https and a slash",
        THREE,
        xml(urlset(*three(), namespace="https://www.sitemaps.org/schemas/sitemap/0.9/")),
    ),
    case("S13", "undeclared image prefix", THREE, xml(urlset(*three(more=PICTURE)))),
    case("S14", "declared image prefix", CLEAN, xml(urlset(*three(more=PICTURE), extra=f' xmlns:image="{IMAGES}"'))),
    case(
        "S15",
        "bare ampersand",
        Wanted(count=3, urls=("https://e.com/a?x=1&y=2", B, C), noted=True),
        xml(urlset(*three("https://e.com/a?x=1&y=2"))),
    ),
    case("S16", "control character after the first loc", NOTED, xml(urlset(*three(A + "\x0b")))),
    case("S17", "empty lines before the declaration", THREE, xml("\n\n" + BASE)),
    case("S18", "a warning of the server's language before the declaration", NOTED, xml(WARNING + BASE)),
    case("S19", "comment after the root", THREE, xml(BASE + "\n<!-- made in 12 ms -->")),
)

ENDS: tuple[Case, ...] = (
    case("S20", "cut XML whose length fits", CUT_SHORT, xml(CUT)),
    case(
        "S21",
        "cut XML with a length never reached",
        Wanted(complete=False, or_failure=True),
        xml(CUT, claimed_length=900_000),
    ),
    case("S22", "XHTML page with status 200", NOT_A_SITEMAP, page(XHTML)),
    case("S23", "empty body with status 200", Wanted(count=0, complete=False, failure="empty"), xml("")),
    case("S24", "urlset without a url", Wanted(count=0, urls=()), xml(urlset())),
)

FORMS: tuple[Case, ...] = (
    case("S25", "text list with mark and CRLF", THREE, plain(b"\xef\xbb\xbf" + lines(ABC, "\r\n").encode())),
    case("S26", "text list, gzip file", THREE, gz(packed(lines(ABC)), "sitemap.txt.gz")),
    case("S27", "RSS 2.0; the channel's own link is no page", THREE, xml(RSS, "feed.xml")),
    case(
        "S28",
        "relative locs",
        Wanted(count=3, urls=("@ROOT@/a", "@HERE@/b", "@SCHEME@://e.com/c")),
        xml(urlset(url("/a"), url("b"), url("//e.com/c"))),
    ),
    case(
        "S29",
        "the first page twice",
        Wanted(count=3, listed=4, urls=ABC, noted=True),
        xml(urlset(*three(), url(A, "2026-01-01"))),
    ),
    case("S30", "CDATA, line breaks and spaces around loc", THREE, xml(urlset(*three(f"\n  <![CDATA[ {A} ]]>\n  ")))),
)

ONE_BAD_PART = Wanted(count=3, urls=ABC, complete=False, failed_parts=1)
INDEXES: tuple[Case, ...] = (
    case(
        "S31",
        "index: one child answers 500",
        ONE_BAD_PART,
        xml(index("@HERE@/good.xml", "@HERE@/bad.xml")),
        GOOD,
        page("no", "bad.xml", 500),
    ),
    case(
        "S32",
        "index: one child is a page for people",
        ONE_BAD_PART,
        xml(index("@HERE@/good.xml", "@HERE@/bad.xml")),
        GOOD,
        page(XHTML, "bad.xml"),
    ),
    case(
        "S33",
        "index: one child is cut",
        Wanted(complete=False, failed_parts=1),
        xml(index("@HERE@/good.xml", "@HERE@/cut.xml")),
        GOOD,
        xml(CUT, "cut.xml"),
    ),
    case(
        "S34",
        "index of an index of an index",
        CLEAN,
        xml(index("@HERE@/two.xml")),
        xml(index("@HERE@/three.xml"), "two.xml"),
        xml(index("@HERE@/good.xml"), "three.xml"),
        GOOD,
    ),
    case("S35", "moved for good", THREE, redirect("@HERE@/good.xml"), GOOD),
)

MATRIX: tuple[Case, ...] = (*PACKING, *SPELLING, *ENDS, *FORMS, *INDEXES)
