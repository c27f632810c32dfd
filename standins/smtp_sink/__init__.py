"""A real mail server that keeps everything it is given and fails as it is set.

with SmtpSink() as sink:
    sink.on("anna@example.com", nth=1).refuse(450)
    sink.on(stage="end", first=1).lose()
    ...
    sink.wait_for(lambda messages: len(messages) == 2)
    sink.messages(to="anna@example.com")[0].links()
"""

from standins.smtp_sink.message import Message
from standins.smtp_sink.script import MailRule
from standins.smtp_sink.sink import SmtpSink

__all__ = ["MailRule", "Message", "SmtpSink"]
