"""Django's settings, made from the environment. Systems are found by their folders."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy as _

from watchbook.base.crypto import secret_file
from watchbook.base.env import InvalidSetting, load_dotenv, require
from watchbook.base.store.options import BLOBS as BLOBS_OPTION
from watchbook.base.web.options import REDIS_URL
from watchbook.core import registry
from watchbook.core.jobs.options import BROKER_URL
from watchbook.core.notify.options import mail_settings
from watchbook.core.ops.options import address_settings
from watchbook.project import options
from watchbook.project.database import database

load_dotenv(Path(os.environ.get("WATCHBOOK_ENV_FILE", ".env")))

HOME = Path(options.HOME.value).expanduser().absolute()
try:
    HOME.mkdir(parents=True, exist_ok=True, mode=0o700)
except OSError as error:
    raise InvalidSetting(f"WATCHBOOK_HOME: {HOME} cannot be used: {error.strerror}") from None
if not os.access(HOME, os.W_OK | os.X_OK):
    raise InvalidSetting(f"WATCHBOOK_HOME: {HOME} cannot be written to")

SECRET_KEY = options.SECRET_KEY.value or secret_file(HOME / "keys" / "secret_key")
if not all(re.fullmatch(r"[\w-]{1,20}:.{16,}", pair) for pair in options.SECRETS_KEYS.value):
    # If they were skipped silently, a new key would replace them, and no stored secret could be decrypted.
    raise InvalidSetting(
        "WATCHBOOK_SECRETS_KEYS: each key is written id:key, with at least 16 characters behind the colon"
    )
SECRETS_KEYS: dict[str, str] = dict(pair.split(":", 1) for pair in options.SECRETS_KEYS.value) or {
    "k1": secret_file(HOME / "keys" / "secrets_key")
}
DEBUG = options.DEBUG.value

_address = address_settings()
PUBLIC_URL: str = _address["PUBLIC_URL"]
ALLOWED_HOSTS: list[str] = _address["ALLOWED_HOSTS"]
CSRF_TRUSTED_ORIGINS: list[str] = _address["CSRF_TRUSTED_ORIGINS"]
_public = urlsplit(PUBLIC_URL)
_IS_HTTPS = _public.scheme == "https"
_IS_LOCAL = _public.hostname in {"127.0.0.1", "localhost", "::1"}
if DEBUG and not _IS_LOCAL:
    raise InvalidSetting("WATCHBOOK_DEBUG is on, but WATCHBOOK_PUBLIC_URL is not a loopback address")
TRUSTED_PROXIES = options.TRUSTED_PROXIES.value

DATABASES = {"default": database(options.DATABASE_URL.value, HOME)}
DATABASE_FOR_URL = database
# Processes on several hosts share the database and the broker, not a folder.
_SHARED = bool(BROKER_URL.value) and "sqlite" not in DATABASES["default"]["ENGINE"]
BLOBS = BLOBS_OPTION.value or ("database" if _SHARED else "files")
# Names of the messages and icons of the style sheet.
MESSAGE_TAGS = {20: "info", 25: "ok", 30: "warn", 40: "bad"}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "django_htmx",
    "watchbook.base.store",
    "watchbook.base.web",
    "watchbook.core.accounts",
    "watchbook.core.jobs",
    "watchbook.core.notify",
    "watchbook.core.alerts",
    "watchbook.core.people",
    "watchbook.core.sources",
    "watchbook.core.search",
    "watchbook.core.stream",
    "watchbook.core.media",
    "watchbook.desk",
    "watchbook.kit",
    "watchbook.core.api",
    "watchbook.core.ops",
    *(package for package in registry.packages() if find_spec(f"{package}.models")),
]
# SQLite keeps no comments, MariaDB no partial indexes; both are known and harmless.
SILENCED_SYSTEM_CHECKS = ["models.W046", "fields.W163", "models.W036", "models.W037", "models.W043"]

MIDDLEWARE = [
    "watchbook.core.ops.middleware.RequestId",
    "watchbook.core.ops.middleware.SecurityHeaders",
    "watchbook.core.ops.middleware.TrustedProxy",
    "django.middleware.security.SecurityMiddleware",
    "watchbook.core.ops.middleware.Compression",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "watchbook.core.ops.middleware.RemoteUser",
    "watchbook.core.api.load.Fair",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "watchbook.desk.layout.Reader",
    "watchbook.core.api.load.Abandoned",
]
ROOT_URLCONF = "watchbook.project.urls"
WSGI_APPLICATION = "watchbook.project.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "watchbook.desk.layout.layout",
            ],
            "builtins": ["watchbook.kit.templatetags.kit"],
            # Tags that need models, beside the code that they show.
            "libraries": {
                "deliveries": "watchbook.core.notify.message",
                "search": "watchbook.core.search.highlight",
                "stream": "watchbook.core.stream.clip",
            },
        },
    }
]

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.BCryptSHA256PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_RESET_TIMEOUT = 3600
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "watchbook.core.accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_CONFIRM_EMAIL_ON_GET = False
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_DEFAULT_HTTP_PROTOCOL = _public.scheme
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_CHANGE_EMAIL = True
MFA_ADAPTER = "watchbook.core.accounts.adapter.MfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Watchbook"

SESSION_ENGINE = "watchbook.core.accounts.sessions"
SESSION_COOKIE_NAME = "__Host-watchbook" if _IS_HTTPS else "watchbook_session"
CSRF_COOKIE_NAME = "__Host-watchbook-csrf" if _IS_HTTPS else "watchbook_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _IS_HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_SAVE_EVERY_REQUEST = False
SIGNED_COOKIE_LEGACY_SALT_FALLBACK = False
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31536000 if _IS_HTTPS else 0
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "watchbook.kit.errors.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000
DATA_UPLOAD_MAX_NUMBER_FILES = 20
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "media-src": ["'self'"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
        "manifest-src": ["'self'"],
    }
}

CACHES: dict[str, dict[str, Any]]
if REDIS_URL.value:
    require("redis", "celery", "REDIS_URL is set")
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL.value}}
else:
    CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.db.DatabaseCache",
            "LOCATION": "cache_entries",
            # The usual 300 would let a flood of keys push out the counters that limit sign-ins.
            "OPTIONS": {"MAX_ENTRIES": 20000},
        }
    }

LANGUAGE_CODE = "en"
# Our words win over those of other apps: allauth, for example, has another "Note" and "Remove".
LOCALE_PATHS = [path for depth in ("*", "*/*") for path in sorted(Path(__file__).parent.parent.glob(f"{depth}/locale"))]
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LANGUAGE_COOKIE_NAME = "watchbook_language"
TIME_ZONE = "Asia/Shanghai"
USE_I18N = USE_TZ = True

STATIC_URL = "/static/"
# The API documentation page needs ninja's files, not its app: importing that would slow every command down.
STATICFILES_DIRS = [Path(str(find_spec("ninja").origin)).parent / "static"]  # type: ignore[union-attr]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Static files come straight from the installed packages: no separate collect step.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
WHITENOISE_MAX_AGE = 3600

EMAIL_TIMEOUT = 30
globals().update(mail_settings())  # an operator may change them later: see core/ops/stored.py

LOGGING_CONFIG = "watchbook.base.logs.configure"
LOGGING = {
    "level": options.LOG_LEVEL.value,
    "format": options.LOG_FORMAT.value,
    "secrets": [SECRET_KEY, *SECRETS_KEYS.values()],
}
DEFAULT_EXCEPTION_REPORTER = "watchbook.base.logs.Reporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "watchbook.base.logs.ReportFilter"
