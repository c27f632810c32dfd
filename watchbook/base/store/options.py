"""Where the content of blobs is kept."""

from __future__ import annotations

from watchbook.base.env import Option, text


def read_place(value: str) -> str:
    """The value of WATCHBOOK_BLOBS, checked."""
    if value in {"files", "database"}:
        return value
    bucket = value.removeprefix("s3://").partition("/")[0]
    if not value.startswith("s3://") or not bucket:
        raise ValueError("expected files, database or s3://BUCKET/PREFIX")
    return value.rstrip("/")


BLOBS = Option(
    "WATCHBOOK_BLOBS", read_place, default="",
    help=(
        "Where large lists, pictures and attachments are stored: files (data folder), database, or s3://BUCKET/PREFIX. "
        "Empty: database if CELERY_BROKER_URL is set and the database is not SQLite, else files."
    ),
)  # fmt: skip
S3_ENDPOINT = Option(
    "AWS_ENDPOINT_URL", text, default="",
    help="Address of S3-compatible storage other than Amazon's, such as https://s3.example.com.",
)  # fmt: skip
S3_REGION = Option("AWS_REGION", text, default="us-east-1", help="Region of the S3 bucket.")
S3_KEY_ID = Option("AWS_ACCESS_KEY_ID", text, default="", secret=True, help="Key ID for the S3 bucket.")
S3_SECRET = Option("AWS_SECRET_ACCESS_KEY", text, default="", secret=True, help="Secret key for the S3 bucket.")
