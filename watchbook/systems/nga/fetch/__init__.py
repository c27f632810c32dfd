"""Asking the forum: which addresses, in which form, how patiently. Records out, or a typed failure.

reader = BoardReader(requests_per_second=1.0)
page = reader.list_page(7, 1)
topic = reader.topic_page(page.topics[0].tid, 1)
reader.http_request_count
"""

from watchbook.systems.nga.fetch.reader import BoardReader

__all__ = ["BoardReader"]
