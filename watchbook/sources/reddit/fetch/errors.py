"""What an answer of Reddit can mean besides "here you are".

RedditTrouble        `outcome` is the word that is stored with the visit
|-- Refusal          about this community: private, banned, nonexistent, quarantined, forbidden. Ask it rarely.
|-- Lost             about this request: upstream, unreachable, garbage. Ask again later.
`-- Stop             about us: throttled, wall, auth, busy. Ask nobody for now.
NotConfigured        no credentials: nothing is asked at all
"""

from __future__ import annotations


class RedditTrouble(Exception):
    def __init__(self, outcome: str, detail: str = "", *, wait_seconds: float | None = None) -> None:
        super().__init__(f"{outcome}: {detail}" if detail else outcome)
        self.outcome = outcome
        self.detail = detail
        self.wait_seconds = wait_seconds


class Refusal(RedditTrouble):
    pass


class Lost(RedditTrouble):
    pass


class Stop(RedditTrouble):
    pass


class NotConfigured(Exception):
    def __init__(self) -> None:
        super().__init__("REDDIT_CLIENT_ID and REDDIT_CLIENT_SECRET are not set: nothing is fetched.")
