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
from watchbook.base.env import WrongSetting, load_dotenv
from watchbook.base.web.options import REDIS_URL
from watchbook.core import registry
from watchbook.project import options
from watchbook.project.database import database

load_dotenv(Path(os.environ.get("WATCHBOOK_ENV_FILE", ".env")))

HOME = Path(options.HOME.value).expanduser().absolute()
try:
    HOME.mkdir(parents=True, exist_ok=True, mode=0o700)
except OSError as error:
    raise WrongSetting(f"WATCHBOOK_HOME: {HOME} cannot be used: {error.strerror}") from None
if not os.access(HOME, os.W_OK | os.X_OK):
    raise WrongSetting(f"WATCHBOOK_HOME: {HOME} cannot be written to")

SECRET_KEY = options.SECRET_KEY.value or secret_file(HOME / "keys" / "secret_key")
if not all(re.fullmatch(r"[\w-]{1,20}:.{16,}", pair) for pair in options.SECRETS_KEYS.value):
    # Left out silently, they would make way for a new key, and nothing that is sealed could be opened.
    raise WrongSetting(
        "WATCHBOOK_SECRETS_KEYS: each key is written id:key, with at least 16 characters behind the colon"
    )
SECRETS_KEYS: dict[str, str] = dict(pair.split(":", 1) for pair in options.SECRETS_KEYS.value) or {
    "k1": secret_file(HOME / "keys" / "secrets_key")
}
DEBUG = options.DEBUG.value

PUBLIC_URL = options.PUBLIC_URL.value.rstrip("/")
_public = urlsplit(PUBLIC_URL)
if _public.scheme not in {"http", "https"} or not _public.hostname:
    raise WrongSetting("WATCHBOOK_PUBLIC_URL must be an http or https address")
_IS_HTTPS = _public.scheme == "https"
_IS_LOCAL = _public.hostname in {"127.0.0.1", "localhost", "::1"}
if DEBUG and not _IS_LOCAL:
    raise WrongSetting("WATCHBOOK_DEBUG is on, but WATCHBOOK_PUBLIC_URL is not a loopback address")
if "*" in options.ALLOWED_HOSTS.value:
    raise WrongSetting("WATCHBOOK_ALLOWED_HOSTS must name hosts; * is not one")
ALLOWED_HOSTS = [_public.hostname, "127.0.0.1", "localhost", "[::1]", *options.ALLOWED_HOSTS.value]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
TRUSTED_PROXIES = options.TRUSTED_PROXIES.value

DATABASES = {"default": database(options.DATABASE_URL.value, HOME)}
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
    "watchbook.core.search",
    "watchbook.core.stream",
    "watchbook.core.ui",
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
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "watchbook.core.ui.middleware.Reader",
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
                "watchbook.core.ui.context.house",
            ],
            "builtins": ["watchbook.core.ui.templatetags.ui"],
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
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
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
CSRF_FAILURE_VIEW = "watchbook.core.ui.errors.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000
DATA_UPLOAD_MAX_NUMBER_FILES = 20
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
}

CACHES: dict[str, dict[str, Any]]
if REDIS_URL.value:
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
# Static files come straight from the installed packages: no collect step to forget.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
WHITENOISE_MAX_AGE = 3600

EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend"
    if options.EMAIL_HOST.value
    else "django.core.mail.backends.console.EmailBackend"
)
EMAIL_HOST = options.EMAIL_HOST.value
EMAIL_PORT = options.EMAIL_PORT.value
EMAIL_HOST_USER = options.EMAIL_HOST_USER.value
EMAIL_HOST_PASSWORD = options.EMAIL_HOST_PASSWORD.value
EMAIL_USE_TLS = options.EMAIL_USE_TLS.value
EMAIL_USE_SSL = options.EMAIL_USE_SSL.value
EMAIL_TIMEOUT = 30
DEFAULT_FROM_EMAIL = SERVER_EMAIL = options.DEFAULT_FROM_EMAIL.value

LOGGING_CONFIG = "watchbook.base.logs.setup.configure"
LOGGING = {
    "level": options.LOG_LEVEL.value,
    "format": options.LOG_FORMAT.value,
    "secrets": [SECRET_KEY, *SECRETS_KEYS.values()],
}
DEFAULT_EXCEPTION_REPORTER = "watchbook.base.logs.report.Reporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "watchbook.base.logs.report.ReportFilter"
