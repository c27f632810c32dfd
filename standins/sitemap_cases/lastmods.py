"""Every spelling of lastmod that was met, with the instant it means."""

from __future__ import annotations

from standins.sitemap_cases.case import Case, Wanted, case
from standins.sitemap_cases.files import url, urlset, xml

# Text, and the instant in UTC at which its span begins; None is no moment at all and is kept as text.
FORMS: tuple[tuple[str, str | None], ...] = (
    ("2024", "2024-01-01T00:00:00+00:00"),
    ("2024-05", "2024-05-01T00:00:00+00:00"),
    ("2024-05-06", "2024-05-06T00:00:00+00:00"),
    ("2024-05-06T07:35Z", "2024-05-06T07:35:00+00:00"),
    ("2024-05-06T07:35:21Z", "2024-05-06T07:35:21+00:00"),
    ("2024-05-06T07:35:21+02:00", "2024-05-06T05:35:21+00:00"),
    ("2024-05-06T07:35:21+0000", "2024-05-06T07:35:21+00:00"),
    ("2024-05-06T07:35:21", "2024-05-06T07:35:21+00:00"),
    ("2024-05-06 07:35:21", "2024-05-06T07:35:21+00:00"),
    ("2024-05-06T07:35:21.12Z", "2024-05-06T07:35:21.120000+00:00"),
    ("2024-05-06T07:35:21.123456789Z", "2024-05-06T07:35:21.123456+00:00"),
    ("2017-1-3", "2017-01-03T00:00:00+00:00"),
    ("Mon, 06 May 2024 07:35:21 GMT", "2024-05-06T07:35:21+00:00"),
    ("2099-01-01", "2099-01-01T00:00:00+00:00"),
    ("0000-00-00", None),
    ("yesterday", None),
    ("2024-13-45", None),
    ("", None),
)
ODD: tuple[str, ...] = (
    "0000-00-00",
    "9999-12-31",
    "2024-05-06T07:35:21+14:60",
    "yesterday",
    "2024-05-06T24:00:00Z",
    "2016-12-31T23:59:60Z",
    "1714980921000",
)


def _page(number: int) -> str:
    return f"https://e.com/{number}"


LASTMODS: Case = case(
    "T-lastmod-forms",
    "lastmod in every spelling",
    Wanted(
        count=len(FORMS),
        urls=tuple(_page(number) for number in range(len(FORMS))),
        instants={_page(number): instant for number, (_, instant) in enumerate(FORMS)},
    ),
    xml(urlset(*(url(_page(number), text) for number, (text, _) in enumerate(FORMS)))),
)

ODD_LASTMODS: Case = case(
    "C10",
    "lastmod that is no moment, or hardly one",
    Wanted(count=len(ODD), urls=tuple(_page(number) for number in range(len(ODD)))),
    xml(urlset(*(url(_page(number), text) for number, text in enumerate(ODD)))),
)
