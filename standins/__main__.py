"""python -m standins NAME [options]: run one stand-in until SIGTERM; prints one JSON line when it is ready."""

from __future__ import annotations

import importlib
import sys

# Imported when named: starting one stand-in should not load all the others.
NAMES = {
    "sitemap": "standins.sitemap_site.__main__",
    "nga": "standins.nga_board.__main__",
    "cases": "standins.sitemap_cases.__main__",
    "notes": "standins.note_platform.__main__",
    "smtp": "standins.smtp_sink.__main__",
    "webhooks": "standins.webhook_sink",
    "chat": "standins.chat_services",
    "push": "standins.push_service",
    "proxy": "standins.fault_proxy",
    "storage": "standins.object_storage",
    "reddit": "standins.reddit.__main__",
    "feishu": "standins.feishu_table",
}


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in NAMES:
        print(f"usage: python -m standins {'|'.join(NAMES)} [--port N] ...", file=sys.stderr)
        return 2
    importlib.import_module(NAMES[argv[0]]).main(argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
