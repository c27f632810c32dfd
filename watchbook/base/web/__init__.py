"""The only socket of the product: guarded, polite, bounded fetching.

    from watchbook.base.web.client import get, send

Nothing is imported here, because every command loads this app and few of them fetch.
"""
