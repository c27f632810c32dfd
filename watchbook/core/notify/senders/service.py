"""Every other service, through Apprise: one address per channel, its own retries and redirects off."""

from __future__ import annotations

import logging
from typing import Any

from watchbook.base.text import cut
from watchbook.base.web import counting
from watchbook.core.notify.config.services import check_service
from watchbook.core.notify.errors import BadConfig
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.notify.senders.message import Message
from watchbook.core.notify.senders.result import Result, failed, sent

DEADLINE_SECONDS = 30.0
TEXT_LENGTH = 4000


def send(_channel: NotificationChannel, config: dict[str, Any], message: Message) -> Result:
    try:
        url = check_service(config["url"])  # the list may have become shorter since it was saved
    except BadConfig:
        return failed("service_refused", is_permanent=True)
    # Imported here: it loads 180 plug-ins, and most installations have no such channel.
    import apprise
    from apprise.result import AppriseResultStatus

    # Its log lines name addresses; the outcome is in the delivery log.
    logging.getLogger("apprise").setLevel(logging.CRITICAL)
    asset = apprise.AppriseAsset(
        app_id="Watchbook",
        app_desc="Watchbook",
        http_redirects=False,
        default_service_retry=0,
        storage_mode="memory",
        service_timeout=DEADLINE_SECONDS,
        pgp_autogen=False,
        pem_autogen=False,
    )
    service = apprise.Apprise(asset=asset)
    if not service.add(url):
        return failed("service_refused", is_permanent=True)
    for plugin in service:
        # A Matrix server may name another one to go to; whoever named this one did not name that.
        plugin.discovery = False  # type: ignore[attr-defined]
    counting.add(requests=1)
    outcome = service.notify(
        body=_body(message),
        title=cut(message.subject, 250),
        body_format=apprise.NotifyFormat.TEXT,
        timeout=DEADLINE_SECONDS,
        interpret_escapes=False,
    )
    if outcome.status == AppriseResultStatus.SUCCESS:
        return sent()
    if outcome.status == AppriseResultStatus.TIMEOUT:
        return failed("service_timed_out")
    return failed("service_failed")


def _body(message: Message) -> str:
    text = cut(message.text or message.subject, TEXT_LENGTH)
    return f"{text}\n{message.link}" if message.link else text
