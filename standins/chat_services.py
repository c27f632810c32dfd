"""Chat and push services in their own formats: Slack, Telegram, ntfy, Discord, Feishu, WeCom, DingTalk.

Each checks a request as the service does (token, signature, required fields) and responds in its format. `messages`
holds what was accepted; a refused message is not in it.

with ChatServices() as chat:
    chat.secrets["feishu"] = "a-signing-secret"
    ...
    assert chat.messages["telegram"][0]["chat_id"] == "42"
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import sys
from typing import Any

from standins.messages import Answer, Request
from standins.process import arguments, run
from standins.server import Site

TELEGRAM_TOKEN = "123456789:" + "A" * 35
NTFY_TOKEN = "tk_" + "a" * 29
SERVICES = ("slack", "telegram", "ntfy", "discord", "feishu", "wecom", "dingtalk")


class ChatServices(Site):
    """All services on one address; their paths differ."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.messages: dict[str, list[dict[str, Any]]] = {name: [] for name in SERVICES}
        self.secrets: dict[str, str] = {}
        self.protected_topics: set[str] = set()
        self.blocked_chats: set[str] = set()
        # What a Telegram bot has received.
        self.updates: list[dict[str, Any]] = []

    def ledger_json(self) -> object:
        return self.messages

    def respond(self, request: Request) -> Answer:
        try:
            body = request.json()
        except ValueError:
            body = None
        if request.method != "POST" or not isinstance(body, dict):
            return Answer.text("not found", 404)
        path = request.path
        if path.startswith("/services/"):
            return self._slack(path, body)
        if path.startswith("/bot"):
            return self._telegram(path, body)
        if path == "/":
            return self._ntfy(request, body)
        if path.startswith("/api/webhooks/"):
            return self._discord(request, body)
        if path.startswith("/open-apis/bot/v2/hook/"):
            return self._feishu(path, body)
        if path == "/cgi-bin/webhook/send":
            return self._wecom(request, body)
        if path == "/robot/send":
            return self._dingtalk(request, body)
        return Answer.text("not found", 404)

    def _keep(self, name: str, body: dict[str, Any]) -> int:
        self.messages[name].append(body)
        return len(self.messages[name])

    def _slack(self, path: str, body: dict[str, Any]) -> Answer:
        if path != "/services/T1/B1/good":
            return Answer.text("no_service", 404)
        if not body.get("text"):
            return Answer.text("no_text", 400)
        self._keep("slack", body)
        return Answer.text("ok")

    def _telegram(self, path: str, body: dict[str, Any]) -> Answer:
        if path == f"/bot{TELEGRAM_TOKEN}/getUpdates":
            return Answer.json({"ok": True, "result": self.updates[-body.get("limit", 100) :]})
        if path != f"/bot{TELEGRAM_TOKEN}/sendMessage":
            return _telegram_error(401, "Unauthorized")
        chat = str(body.get("chat_id"))
        if chat in self.blocked_chats:
            return _telegram_error(403, "Forbidden: bot was blocked by the user")
        if not body.get("text"):
            return _telegram_error(400, "Bad Request: message text is empty")
        number = self._keep("telegram", body)
        sent = {"message_id": number, "chat": {"id": chat, "title": "Harbour team"}, "text": body["text"]}
        return Answer.json({"ok": True, "result": sent})

    def _ntfy(self, request: Request, body: dict[str, Any]) -> Answer:
        topic = body.get("topic")
        if not topic:
            return Answer.json({"code": 40009, "http": 400, "error": "invalid request: topic invalid"}, 400)
        if topic in self.protected_topics and request.headers.get("authorization") != f"Bearer {NTFY_TOKEN}":
            return Answer.json({"code": 40301, "http": 403, "error": "forbidden"}, 403)
        number = self._keep("ntfy", body)
        return Answer.json({"id": f"m{number}", "time": 1, "event": "message", **body})

    def _discord(self, request: Request, body: dict[str, Any]) -> Answer:
        if request.path != "/api/webhooks/77/good":
            return Answer.json({"message": "Unknown Webhook", "code": 10015}, 404)
        if not body.get("content") or len(body["content"]) > 2000:
            return Answer.json({"message": "Invalid Form Body", "code": 50035}, 400)
        number = self._keep("discord", body)
        if request.params.get("wait") != "true":
            return Answer(204)
        return Answer.json({"id": str(number), "channel_id": "5", "content": body["content"]})

    def _feishu(self, path: str, body: dict[str, Any]) -> Answer:
        if not path.endswith("/good"):
            return Answer.json(
                {"code": 19001, "data": {}, "msg": "param invalid: incoming webhook access token invalid"}
            )
        if secret := self.secrets.get("feishu"):
            key = f"{body.get('timestamp')}\n{secret}".encode()
            if body.get("sign") != base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode():
                return Answer.json(
                    {"code": 19021, "data": {}, "msg": "sign match fail or timestamp is not within one hour"}
                )
        self._keep("feishu", body)
        return Answer.json({"StatusCode": 0, "StatusMessage": "success", "code": 0, "data": {}, "msg": "success"})

    def _wecom(self, request: Request, body: dict[str, Any]) -> Answer:
        if request.params.get("key") != "good":
            return Answer.json({"errcode": 93000, "errmsg": "invalid webhook url"})
        if len(body.get("text", {}).get("content", "").encode()) > 2048:
            return Answer.json({"errcode": 40058, "errmsg": "text.content exceed max length 2048"})
        self._keep("wecom", body)
        return Answer.json({"errcode": 0, "errmsg": "ok"})

    def _dingtalk(self, request: Request, body: dict[str, Any]) -> Answer:
        if request.params.get("access_token") != "good":
            return Answer.json({"errcode": 300001, "errmsg": "token is not exist"})
        if secret := self.secrets.get("dingtalk"):
            signed = f"{request.params.get('timestamp')}\n{secret}".encode()
            right = base64.b64encode(hmac.new(secret.encode(), signed, hashlib.sha256).digest()).decode()
            if request.params.get("sign") != right:
                return Answer.json({"errcode": 310000, "errmsg": "sign not match"})
        self._keep("dingtalk", body)
        return Answer.json({"errcode": 0, "errmsg": "ok"})


def _feishu_error(code: int, said: str) -> Answer:
    return Answer.json({"code": code, "data": {}, "msg": said})


def _telegram_error(code: int, description: str) -> Answer:
    return Answer.json({"ok": False, "error_code": code, "description": description}, code)


def main(argv: list[str] | None = None) -> None:
    given = arguments("chat", __doc__).parse_args(argv)
    chat = ChatServices(host=given.host, port=given.port)
    run({"url": chat.url}, chat)


if __name__ == "__main__":
    main(sys.argv[1:])
