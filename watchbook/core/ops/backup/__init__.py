"""Backups: one tar file that holds the database as of one moment, the blobs, and a manifest with a digest of each.

    manifest.json                 what is inside, read back and checked before a backup counts as made
    database.sqlite3.zst          SQLite: a copy by the online backup API
    tables/<name>.zst             PostgreSQL: COPY text; MariaDB: JSON lines; all read in one snapshot
    blobs/..., keys/...           files of the data folder; keys only when asked for

Sessions and cache stay out: they are of no use elsewhere, and a session key opens an account.
"""
