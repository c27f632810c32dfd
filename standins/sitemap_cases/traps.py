"""`T-…`: what goes wrong in real files, beyond the matrix."""

from __future__ import annotations

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
from standins.sitemap_cases.lastmods import LASTMODS
from standins.sitemap_cases.matrix import CLEAN, GOOD, NOT_A_SITEMAP, NOTED, ONE_BAD_PART, THREE

PREFIXED = (
    BASE.replace("<", "<sit:").replace("<sit:/", "</sit:").replace("<sit:?", "<?").replace("xmlns=", "xmlns:sit=")
)
ALTERNATES = '<xhtml:link rel="alternate" hreflang="de" href="https://e.com/de"/>'
VIDEO = "<video:video><video:loc>https://e.com/film</video:loc><video:player_loc>https://e.com/p</video:player_loc></video:video>"
# Numbers in no order, so that the file does not shrink to nothing when it is packed.
SCATTERED = urlset(*(url(f"https://e.com/{number * 7919 % 99991}", "2026-01-01") for number in range(2000)))
SPACES = "\u00a0\u200b\ufeff"
ERROR_DOCUMENT = (
    f"{DECLARATION}<error><code>wp_die</code><title>Error</title><message>Try again later.</message></error>"
)
RDF = (
    DECLARATION + '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
    '<channel rdf:about="https://e.com/"><title>News</title><link>https://e.com/</link></channel>'
    + "".join(f'<item rdf:about="{link}"><title>x</title><link>{link}</link></item>' for link in ABC)
    + "</rdf:RDF>"
)
GUIDS = (
    DECLARATION
    + '<rss version="2.0"><channel><title>News</title><link>https://e.com/</link>'
    + "".join(f'<item><title>x</title><guid isPermaLink="true">{link}</guid></item>' for link in ABC)
    + "</channel></rss>"
)
ATOM_ENTRIES = "".join(
    f'<entry><id>tag:{number}</id><title>x</title><link href="{link}"/>'
    f"<updated>2026-01-0{number}T00:00:00Z</updated></entry>"
    for number, link in enumerate(ABC, 1)
)
ATOM = f'{DECLARATION}<feed xmlns="http://www.w3.org/2005/Atom"><id>tag:0</id><link href="https://e.com/"/>{ATOM_ENTRIES}</feed>'
OLD_ATOM = ATOM.replace("http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#").replace("updated>", "modified>")


PACKING: tuple[Case, ...] = (
    case("T-gzip-under-xml", "gzip bytes under .xml with an XML type", THREE, xml(packed(BASE))),
    case("T-gzip-two-layers", "gzip twice in the file itself", THREE, gz(packed(BASE, 2))),
    case(
        "T-gzip-three-layers",
        "one layer more than anybody needs",
        Wanted(complete=False, failure=ANY_FAILURE),
        gz(packed(BASE, 3)),
    ),
    case("T-gzip-members", "several gzip members after another", THREE, gz(packed(BASE[:200]) + packed(BASE[200:]))),
    case(
        "T-gzip-cut",
        "gzip file cut in the middle",
        Wanted(complete=False, or_failure=True),
        gz(packed(SCATTERED)[:5000]),
    ),
    case(
        "T-gzip-wrong-checksum",
        "gzip file whose checksum does not fit",
        Wanted(complete=False, or_failure=True),
        gz(packed(BASE)[:-8] + b"\0" * 8),
    ),
)

NAMES: tuple[Case, ...] = (
    case("T-prefixed-root", "every element with a prefix", THREE, xml(PREFIXED)),
    case(
        "T-namespace-without-scheme",
        "namespace without its scheme",
        THREE,
        xml(urlset(*three(), namespace=NAMESPACE.removeprefix("http:"))),
    ),
    case(
        "T-alternates",
        "language alternates in each url",
        CLEAN,
        xml(urlset(*three(more=ALTERNATES), extra=' xmlns:xhtml="http://www.w3.org/1999/xhtml"')),
    ),
    case(
        "T-video",
        "video locs in each url",
        CLEAN,
        xml(urlset(*three(more=VIDEO), extra=' xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"')),
    ),
    case(
        "T-commented-url",
        "a commented-out url before the first",
        THREE,
        xml(urlset(f"<!-- {url('https://e.com/old')} -->\n", *three())),
    ),
    case(
        "T-commented-url-between",
        "a commented-out url between two",
        THREE,
        xml(urlset(three()[0], f"<!-- {url('https://e.com/old')} -->\n", *three()[1:])),
    ),
)

SPELLING: tuple[Case, ...] = (
    case(
        "T-html-entity",
        "an entity of HTML in a loc",
        Wanted(count=3, urls=("https://e.com/café", B, C), noted=True),
        xml(urlset(*three("https://e.com/caf&eacute;"))),
    ),
    case(
        "T-escaped-ampersand",
        "ampersand as it should be",
        Wanted(count=3, urls=("https://e.com/a?x=1&y=2", B, C), noted=False),
        xml(urlset(*three("https://e.com/a?x=1&amp;y=2"))),
    ),
    case(
        "T-control-inside",
        "control character inside a loc",
        Wanted(count=3, urls=("https://e.com/ab", B, C), noted=True),
        xml(urlset(*three("https://e.com/a\x01b"))),
    ),
    case("T-text-after-root", "words after the root", NOTED, xml(BASE + "Notification: cache is full\n")),
    case(
        "T-latin1-as-utf8",
        "latin-1 bytes declared UTF-8",
        Wanted(count=3, urls=("https://e.com/é", B, C), noted=True),
        xml(urlset(*three("https://e.com/é")).encode("latin-1")),
    ),
    case("T-utf8-as-utf16", "UTF-8 bytes declared UTF-16", THREE, xml(BASE.replace("UTF-8", "UTF-16"))),
    case("T-unicode-spaces", "odd spaces around a loc", THREE, xml(urlset(*three(SPACES + A + SPACES)))),
    case("T-empty-loc", "a url with an empty loc", NOTED, xml(urlset(*three(), url("")))),
    case("T-no-loc", "a url without loc", NOTED, xml(urlset(*three(), "<url><lastmod>2026-01-01</lastmod></url>"))),
    case("T-priority-nan", "priority that is no number", THREE, xml(urlset(*three(more="<priority>NaN</priority>")))),
    case("T-host-case", "scheme and host in capitals", THREE, xml(urlset(*three("HTTPS://E.COM/a")))),
    case(
        "T-path-case",
        "a path keeps its case and its encoding",
        Wanted(count=3, urls=("https://e.com/A%2fb?Q=%e4", B, C)),
        xml(urlset(*three("https://e.com/A%2fb?Q=%e4"))),
    ),
    LASTMODS,
)

WRONG: tuple[Case, ...] = (
    case("T-error-document", "an XML error document with status 200", NOT_A_SITEMAP, xml(ERROR_DOCUMENT)),
    case("T-html", "an ordinary web page with status 200", NOT_A_SITEMAP, page(HTML)),
    case("T-html-as-xml", "a web page that says it is XML", NOT_A_SITEMAP, xml(HTML)),
    case("T-whitespace", "nothing but white space", Wanted(count=0, complete=False, failure="empty"), xml(" \n\t\n ")),
    case(
        "T-comment-only",
        "nothing but a comment",
        Wanted(count=0, complete=False, failure=ANY_FAILURE),
        xml("<!-- soon -->"),
    ),
    case(
        "T-prose",
        "a text file that is no list",
        NOT_A_SITEMAP,
        plain("There is no sitemap here.\nAsk again tomorrow.\n"),
    ),
    case("T-forbidden", "status 403", Wanted(count=0, complete=False, failure="blocked"), page("no", status=403)),
    case("T-missing", "status 404", Wanted(count=0, complete=False, failure="gone"), page("no", status=404)),
    case(
        "T-redirect-loop",
        "redirects to itself",
        Wanted(count=0, complete=False, failure="redirects"),
        redirect("@HERE@/sitemap.xml"),
    ),
    case(
        "T-hangs",
        "accepts and never answers",
        Wanted(count=0, complete=False, failure="timeout"),
        Resource(path="sitemap.xml", hangs=True),
        slow=True,
    ),
)

FEEDS: tuple[Case, ...] = (
    case("T-rdf", "RSS 1.0", THREE, xml(RDF, "feed.rdf")),
    case("T-guid-as-link", "RSS items with a guid instead of a link", THREE, xml(GUIDS, "feed.xml")),
    case("T-atom", "Atom 1.0; the feed's own link is no page", THREE, xml(ATOM, "atom.xml")),
    case("T-atom-old", "Atom 0.3", THREE, xml(OLD_ATOM, "atom.xml")),
    case("T-text-cr", "text list with CR line ends", THREE, plain(lines(ABC, "\r"))),
    case("T-text-blank-lines", "text list with blank lines and spaces", THREE, plain("\n  " + lines(ABC, " \n\n"))),
)

PARTS: tuple[Case, ...] = (
    case(
        "T-bare-text-child",
        "index entries with bare text instead of loc",
        THREE,
        xml(index("X").replace("<loc>X</loc>", " @HERE@/good.xml\n")),
        GOOD,
    ),
    case("T-relative-child", "relative locs in an index", THREE, xml(index("good.xml")), GOOD),
    case(
        "T-relative-after-redirect",
        "relative locs after a redirect",
        Wanted(count=1, urls=("@HERE@/deep/x",)),
        redirect("@HERE@/deep/real.xml"),
        xml(urlset(url("x")), "deep/real.xml"),
    ),
    case(
        "T-child-missing", "one child answers 404", ONE_BAD_PART, xml(index("@HERE@/good.xml", "@HERE@/gone.xml")), GOOD
    ),
    case(
        "T-child-blocked",
        "one child answers 403",
        ONE_BAD_PART,
        xml(index("@HERE@/bad.xml", "@HERE@/good.xml")),
        GOOD,
        page("no", "bad.xml", 403),
    ),
    case(
        "T-child-hangs",
        "one child never answers",
        ONE_BAD_PART,
        xml(index("@HERE@/good.xml", "@HERE@/slow.xml")),
        GOOD,
        Resource(path="slow.xml", hangs=True),
        slow=True,
    ),
    case(
        "T-child-cut-length",
        "one child ends before its length",
        Wanted(complete=False, failed_parts=1),
        xml(index("@HERE@/good.xml", "@HERE@/cut.xml")),
        GOOD,
        xml(BASE[:150], "cut.xml", claimed_length=9000),
    ),
    case(
        "T-duplicates-across",
        "two children list the same pages",
        Wanted(count=3, listed=6, urls=ABC, noted=True),
        xml(index("@HERE@/good.xml", "@HERE@/again.xml")),
        GOOD,
        xml(BASE, "again.xml"),
    ),
    case(
        "T-child-twice", "an index lists a child twice", THREE, xml(index("@HERE@/good.xml", "@HERE@/good.xml")), GOOD
    ),
    case("T-empty-index", "an index without children", Wanted(count=0, complete=None, urls=()), xml(index())),
    case(
        "T-index-lists-itself",
        "an index that lists itself",
        NOTED,
        xml(index("@HERE@/good.xml", "@HERE@/sitemap.xml")),
        GOOD,
    ),
    case(
        "T-child-redirects-to-parent",
        "a child redirects to its index",
        Wanted(count=3, urls=ABC, complete=None, noted=None),
        xml(index("@HERE@/good.xml", "@HERE@/loop.xml")),
        GOOD,
        redirect("@HERE@/sitemap.xml", "loop.xml"),
    ),
    case(
        "T-inward-child",
        "a child at a private address",
        Wanted(count=3, urls=ABC, complete=False, failed_parts=1),
        xml(index("@HERE@/good.xml", "http://169.254.169.254/latest/sitemap.xml")),
        GOOD,
    ),
    case(
        "T-mixed-children",
        "children of every form",
        Wanted(count=3, urls=ABC),
        xml(index("@HERE@/a.txt", "@HERE@/b.xml.gz", "@HERE@/c.xml")),
        plain(A, "a.txt"),
        gz(packed(urlset(url(B))), "b.xml.gz"),
        xml(urlset(url(C)), "c.xml"),
    ),
)

TRAPS: tuple[Case, ...] = (*PACKING, *NAMES, *SPELLING, *WRONG, *FEEDS, *PARTS)
