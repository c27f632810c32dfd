"""Reddit's answers as records: bytes in, frozen records out. No Django, no network, no clock."""

from watchbook.sources.reddit.parse.listing import Listing, NotAListing, parse_listing
from watchbook.sources.reddit.parse.normal import text_norm_hash
from watchbook.sources.reddit.parse.records import PostRecord

__all__ = ["Listing", "NotAListing", "PostRecord", "parse_listing", "text_norm_hash"]
