"""C1 to C11 and bombs: files made to hurt the reader. None may cause a request to a canary."""

from __future__ import annotations

from standins.faults import gzip_bomb
from standins.sitemap_cases.case import ANY_FAILURE, Case, Resource, Wanted, case
from standins.sitemap_cases.files import (
    ABC,
    BASE,
    DECLARATION,
    HTML,
    NAMESPACE,
    A,
    B,
    C,
    index,
    packed,
    three,
    url,
    urlset,
    xml,
)
from standins.sitemap_cases.lastmods import ODD_LASTMODS
from standins.sitemap_cases.matrix import GOOD, NOT_A_SITEMAP, THREE

DANGEROUS = Wanted(complete=False, failure="dangerous")
REFUSED = Wanted(complete=False, failure=ANY_FAILURE)
EITHER = Wanted(count=3, urls=ABC, complete=None, or_failure=True)
UNTRUSTED = Wanted(complete=False, or_failure=True)


def _doctype(declarations: str, first: str = A, more: str = "") -> str:
    body = urlset(*three(first, more), declaration="")
    return f"{DECLARATION}<!DOCTYPE urlset [{declarations}]>\n{body}"


def _laughs() -> str:
    steps = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return _doctype(f'<!ENTITY l0 "ha">{steps}', "https://e.com/&l9;")


def _quadratic() -> str:
    return _doctype(f'<!ENTITY long "{"x" * 50_000}">', "https://e.com/" + "&long;" * 5_000)


def _deep() -> str:
    first, *others = three()
    return urlset(first, "<a>" * 1000 + "</a>" * 1000, *others)


def _chain(length: int) -> tuple[Resource, ...]:
    levels = [xml(index(f"@HERE@/{number + 1}.xml"), f"{number}.xml") for number in range(length)]
    return (*levels, xml(BASE, f"{length}.xml"))


ENTITIES: tuple[Case, ...] = (
    case("C1", "entities that grow tenfold nine times", DANGEROUS, xml(_laughs())),
    case("C2", "one long entity used very often", DANGEROUS, xml(_quadratic())),
    case(
        "C3",
        "an entity that reads a local file",
        DANGEROUS,
        xml(_doctype('<!ENTITY f SYSTEM "file:///etc/hostname">', "https://e.com/&f;")),
    ),
    case(
        "C4",
        "a parameter entity that fetches rules",
        DANGEROUS,
        xml(_doctype('<!ENTITY % p SYSTEM "@ROOT@/canary/rules.dtd"> %p;')),
    ),
    case(
        "C4-external",
        "an external document type",
        EITHER,
        xml(BASE.replace("<urlset", '<!DOCTYPE urlset SYSTEM "@ROOT@/canary/urlset.dtd">\n<urlset', 1)),
    ),
    case(
        "C5",
        "an inclusion of another file",
        EITHER,
        xml(urlset(*three(), '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="@ROOT@/canary/more.xml"/>')),
    ),
    case(
        "C6",
        "a style sheet instruction, as half of all sites have it",
        THREE,
        xml(BASE.replace("<urlset", '<?xml-stylesheet type="text/xsl" href="@ROOT@/canary/style.xsl"?>\n<urlset', 1)),
    ),
    case("C7", "elements a thousand deep", EITHER, xml(_deep())),
)

INDEXES: tuple[Case, ...] = (
    case(
        "C8-self",
        "an index of nothing but itself",
        Wanted(count=0, complete=None, urls=()),
        xml(index("@HERE@/sitemap.xml")),
    ),
    case(
        "C8-cycle",
        "two indexes that list each other",
        Wanted(count=3, urls=ABC, complete=None),
        xml(index("@HERE@/two.xml")),
        xml(index("@HERE@/sitemap.xml", "@HERE@/good.xml"), "two.xml"),
        GOOD,
    ),
    case("C8-ten-levels", "an index ten levels deep", Wanted(complete=False, or_failure=True), *_chain(10)),
    case(
        "C8-many",
        "an index of ten thousand children that do not exist",
        UNTRUSTED,
        xml(index(*(f"@HERE@/{n}.xml" for n in range(10_000)))),
        heavy=True,
    ),
)

LOCS: tuple[Case, ...] = (
    case(
        "C9",
        "locs of every bad kind beside good ones",
        Wanted(count=None, noted=True),
        xml(
            urlset(
                *three(),
                url(""),
                url("/relative"),
                url("https://e.com/" + "x" * 5000),
                url("https://e.com/with space"),
                url("https://e.com/?a=1&amp;b=2"),
                url(A, "2026-01-01"),
                url("https://other.example.org/"),
                url("javascript:alert(1)"),
                url("ftp://e.com/file"),
            )
        ),
    ),
    ODD_LASTMODS,
    case(
        "C11-root", "another root", NOT_A_SITEMAP, xml(f'{DECLARATION}<catalog xmlns="{NAMESPACE}">{url(A)}</catalog>')
    ),
    case("C11-html", "a web page as XML", NOT_A_SITEMAP, xml(HTML)),
    case(
        "C11-cdata",
        "CDATA with its end inside",
        Wanted(count=3, urls=("https://e.com/a]]>b", B, C)),
        xml(urlset(*three("<![CDATA[https://e.com/a]]]]><![CDATA[>b]]>"))),
    ),
    case("C11-half-cdata", "CDATA that never ends", UNTRUSTED, xml(urlset(*three("<![CDATA[https://e.com/a")))),
)


def _bomb(layers: int) -> bytes:
    return gzip_bomb(300, layers, urlset(*three()).removesuffix("</urlset>\n").encode())


BOMBS: tuple[Case, ...] = (
    case(
        "B1",
        "a gzip file that unpacks to 300 MB",
        UNTRUSTED,
        Resource(path="sitemap.xml.gz", body=lambda: _bomb(1), content_type="application/gzip"),
        heavy=True,
    ),
    case(
        "B2",
        "two layers of gzip, some bytes that unpack to 300 MB",
        UNTRUSTED,
        Resource(path="sitemap.xml.gz", body=lambda: _bomb(2), content_type="application/gzip"),
        heavy=True,
    ),
    case("B4", "an encoding that nobody asked for", REFUSED, xml(BASE, headers={"Content-Encoding": "br"})),
    case(
        "B5",
        "gzip encoding that ends early",
        REFUSED,
        Resource(path="sitemap.xml", body=packed(BASE)[:-20], headers={"Content-Encoding": "gzip"}),
    ),
)

HOSTILE: tuple[Case, ...] = (*ENTITIES, *INDEXES, *LOCS, *BOMBS)
