"""Moving an installation to another database, between SQLite, PostgreSQL and MariaDB.

The target becomes the default database of this process, and the source is opened beside it so that the database
itself refuses to write there. Rows go table by table in the order of their keys; each batch is committed together with
the key it ended at (table `move_progress` of the target), so that a killed move continues where it was.

    checks       what must hold before the first row is written
    databases    which connection is which
    progress     what is done, kept in the target
    rows         reading, writing and digests of one table
    schema       foreign keys that are added at the end, and the next numbers of keys
    moving       the steps
"""
