"""Kept files: pictures, videos and attachments of items, by address, fetched once and shared by all systems.

    store.want("tides", [Wanted(url, object_id="7", position=0, role="picture")])   # in the transaction of the item
    store.files_of("tides", ["7", "8"])    # {"7": [FileReference, …]}, each with its file and state
    store.release("tides", ["7"])          # where the item is deleted; a file without an item goes with it

The job `media.fetch` gets what waits. A system declares `registry.Media`: who may see the files of which item, and the
switch. The content is a blob, so backup, move and `doctor` know it. `/media/ID` sends it, `?size=320` a thumbnail.
"""
