"""The only module that opens sockets: checked addresses, rate limits, byte and time limits.

    from watchbook.base.web.client import get, send

Nothing is imported here, because every command loads this app and few of them fetch.
"""
