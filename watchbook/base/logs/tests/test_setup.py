from __future__ import annotations

import copy
import json
import logging
import pickle

import pytest

from watchbook.base.logs import QUIET, JsonLines, Reporter, StandardError, TextLines, redact, using_request_id
from watchbook.base.logs.redact import Secret

SENTINELS = {
    "cookie": "sentinel-cookie-Qx81mZ",
    "token": "wb_sentinelToken0123456789",
    "password": "sentinel pass phrase 42",
    "webhook": "https://hooks.example.com/services/T000/B000/sentinelWebhook9",
    "smtp": "sentinel-smtp-pw-77",
}
urlpatterns: list[object] = []


@pytest.fixture
def written(capsys):
    """A logger at DEBUG through both forms of the real handler, and what it wrote."""
    redact.forget_all()
    # Not from getLogger: the test runner's own handlers would see the records, too.
    logger = logging.Logger("test.sentinels", logging.DEBUG)
    for form in (TextLines(), JsonLines()):
        handler = StandardError()
        handler.setFormatter(form)
        logger.addHandler(handler)
    yield logger, lambda: capsys.readouterr().err
    redact.forget_all()


def leak_everything(logger: logging.Logger) -> None:
    for kind, value in SENTINELS.items():
        jar = {"sid": value}
        logger.debug("plain %s", value)
        logger.debug("in a structure %r", {"kind": kind, "values": [value, jar]})
        logger.info("extra", extra={"jar": jar, "payload": f"x{value}y"})
        try:
            raise ValueError(f"server said no to {value}")
        except ValueError:
            logger.exception("failed with %s", value)
        try:
            try:
                raise RuntimeError(value)
            except RuntimeError as inner:
                raise LookupError("outer") from inner
        except LookupError:
            logger.error("chained", exc_info=True, stack_info=True)
        logger.debug("broken format %d", value)


def test_no_sentinel_of_any_secret_kind_reaches_the_log(written):
    logger, out = written
    for value in SENTINELS.values():
        redact.remember(value)
    leak_everything(logger)

    text = out()
    assert text.count("failed with") == 2 * len(SENTINELS)
    assert text.count("log line lost") == 2 * len(SENTINELS)
    hits = {kind: text.count(value) for kind, value in SENTINELS.items()}
    assert hits == dict.fromkeys(SENTINELS, 0)
    assert "sentinelWebhook9" not in text


def test_secret_that_is_not_registered_is_masked_by_its_name(written):
    logger, out = written
    logger.debug("Cookie: a=%s", SENTINELS["cookie"])
    logger.debug("login", extra={"password": SENTINELS["password"], "headers": {"Authorization": SENTINELS["token"]}})
    logger.debug("POST %s", "https://bot:" + SENTINELS["smtp"] + "@example.com/?sig=" + SENTINELS["token"])
    text = out()
    assert text.count("***") >= 8
    assert not [kind for kind, value in SENTINELS.items() if value in text]


def test_each_line_carries_the_request_id(written):
    logger, out = written
    with using_request_id("abc-123"):
        logger.info("hello")
    text, line = out().splitlines()
    assert " [abc-123]: hello" in text
    assert json.loads(line)["request_id"] == "abc-123"


def test_text_inside_an_error_cannot_pass_for_a_line_of_its_own(written):
    logger, out = written
    try:
        raise ValueError("x\n2026-01-01T00:00:00Z INFO forged: line")
    except ValueError:
        logger.exception("bad\nnews")
    text_part = out().split("\n{", 1)[0]
    assert "bad\\nnews" in text_part
    assert not any(line.startswith("2026-01-01T00:00:00Z") for line in text_part.splitlines())


def test_talkative_libraries_stay_quiet_even_at_debug():
    assert all(logging.getLogger(name).getEffectiveLevel() >= logging.WARNING for name in QUIET)


def test_secret_does_not_show_itself_and_is_not_written_down():
    secret = Secret("sentinel-wrapped-31")
    assert f"{secret} {secret!r} {secret!s} {[secret]}" == "*** *** *** [***]"
    assert secret.reveal() == "sentinel-wrapped-31"
    assert secret == Secret("sentinel-wrapped-31")
    assert copy.deepcopy({"a": secret})["a"] is secret
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        json.dumps({"a": secret})
    assert "***" in redact.line("text with sentinel-wrapped-31")


def refused(jar: dict[str, str]) -> None:
    raise ValueError(f"refused {jar['anything']}")


def test_error_report_masks_variables_messages_and_the_request(rf, settings):
    settings.ROOT_URLCONF = __name__
    redact.forget_all()
    redact.remember(SENTINELS["token"])
    request = rf.get("/page", {"token": SENTINELS["smtp"]}, headers={"cookie": f"sid={SENTINELS['cookie']}"})
    try:
        refused({"anything": SENTINELS["token"]})
    except ValueError as error:
        report = Reporter(request, type(error), error, error.__traceback__)
    for shown in (report.get_traceback_html(), report.get_traceback_text()):
        assert "refused ***" in shown
        assert not [kind for kind, value in SENTINELS.items() if value in shown]
    redact.forget_all()


def test_decrypted_value_is_masked_in_logs(settings):
    from watchbook.base.crypto import decrypt, encrypt

    settings.SECRETS_KEYS = {"k1": "x" * 40}
    redact.forget_all()
    sealed = encrypt("sentinel-sealed-1234", bound_to="row 1")
    assert decrypt(sealed, bound_to="row 1") == "sentinel-sealed-1234"
    assert redact.line("oops sentinel-sealed-1234") == "oops ***"
