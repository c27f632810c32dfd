"""Made-up documents for the search: by `index.put`, or as the rows that `index.put` would write."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

START = datetime(2020, 1, 1, tzinfo=UTC)
TITLE, BODY = 29, 232
CLAUSE, MOST_CLAUSES, FLOORS_OF_A_TOPIC = 12, 20, 30
AUTHORS = 10_000

Values = tuple[Any, ...]
Tokens = tuple[int, list[str]]
"""Id of a document and what the word index keeps of it."""


class Corpus:
    """Documents that the same seed makes the same way: words by Zipf's law, put together from a pool of clauses."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)
        characters = [chr(number) for number in range(0x4E00, 0x4E00 + 3000)]
        self.random.shuffle(characters)
        self.vocabulary = [
            "".join(self.random.choices(characters, k=self.random.choice((1, 2, 2, 2, 3)))) for _ in range(20_000)
        ]
        weights = [1 / (rank + 3) for rank in range(len(self.vocabulary))]
        drawn = self.random.choices(self.vocabulary, weights=weights, k=TITLE * 200_000)
        written = "".join(drawn)
        self.clauses = [written[at : at + TITLE] for at in range(0, len(written) - TITLE, TITLE)]

    def documents(self, count: int) -> Iterator[Any]:
        from watchbook.core.search.index import Document

        for number in range(count):
            # As a crawl would bring them: nearly in order of time, not quite.
            moment = START + timedelta(minutes=number + self.random.randint(-500, 500))
            title, *body = self.random.choices(self.clauses, k=1 + BODY // TITLE)
            yield Document(
                "bench.item", str(number), "members", title, "".join(body), f"/bench/{number}", moment, "bench"
            )


class Floor(NamedTuple):
    """A post as it was drawn: its clauses by their places; the opening post of a topic has a title."""

    number: int
    clauses: list[int]
    author: int
    moment: datetime

    @property
    def is_opening(self) -> bool:
        return self.number % FLOORS_OF_A_TOPIC == 0

    @property
    def kind(self) -> str:
        return "nga.topic" if self.is_opening else "nga.post"

    @property
    def path(self) -> str:
        return f"/nga/topic/{self.number // FLOORS_OF_A_TOPIC}/floor/{self.number % FLOORS_OF_A_TOPIC}/"


class Floors(Corpus):
    """Posts of a forum. A comma parts their clauses, so that the tokens of a post are those of its clauses."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        from watchbook.core.search.tokens import attribute_tokens, tokens

        written = "".join(self.clauses)
        self.clauses = [written[at : at + CLAUSE] for at in range(0, len(written) - CLAUSE, CLAUSE)][:200_000]
        self.tokens = [tokens(clause) for clause in self.clauses]
        self.authors = [attribute_tokens(f"u{each}", "nga/7", "") for each in range(AUTHORS)]
        self.made = 0

    def documents(self, count: int) -> Iterator[Any]:
        """The posts as the product is given them."""
        from watchbook.core.registry import Attributes
        from watchbook.core.search.index import Document

        for floor in self._drawn(count):
            title, body = self._texts(floor)
            given = Attributes(f"u{floor.author}", "7")
            yield Document(
                floor.kind, str(floor.number), "members", title, body, floor.path, floor.moment, "nga", given
            )

    def rows(self, count: int) -> Iterator[tuple[Values, Tokens]]:
        """The rows that the product would write of them, but for the fingerprint: of search_documents and its words."""
        for floor in self._drawn(count):
            title, body = self._texts(floor)
            author, moment = f"u{floor.author}", floor.moment.isoformat(" ")[:19]
            anywhere = set(self.authors[floor.author]).union(*[self.tokens[each] for each in floor.clauses])
            in_title = self.tokens[floor.clauses[0]] | self.tokens[floor.clauses[-1]] if title else set()
            document = (
                floor.number + 1, floor.kind, str(floor.number), "nga", "members", moment, moment,
                f"{floor.number:032x}", floor.path, title, author, "nga/7", "", None, body,
            )  # fmt: skip
            yield document, (floor.number + 1, [*anywhere, *["¶" + token for token in in_title]])

    def _texts(self, floor: Floor) -> tuple[str, str]:
        clauses = [self.clauses[each] for each in floor.clauses]
        return f"{clauses[0]}，{clauses[-1]}" if floor.is_opening else "", "，".join(clauses)

    def _drawn(self, count: int) -> Iterator[Floor]:
        places = range(len(self.clauses))
        for number in range(self.made, self.made + count):
            clauses = self.random.choices(places, k=self._length())
            moment = START + timedelta(seconds=20 * number + self.random.randint(-9000, 9000))
            yield Floor(number, clauses, self.random.randrange(AUTHORS), moment)
        self.made += count

    def _length(self) -> int:
        return max(1, min(MOST_CLAUSES, round(self.random.lognormvariate(1.2, 0.8))))
