"""How the platform is asked: `standin` for tests and the demo, `page` for one public page, `remote` for a service.

There is no signing, no captcha solving, no stealth and no rotation of addresses here, and there will be none.
"""

from watchbook.sources.notes.fetch.choose import adapter, adapter_name

__all__ = ["adapter", "adapter_name"]
