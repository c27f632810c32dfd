"""An NGA board with a ledger of what is true and of what was given out. It speaks the site's dialect byte for byte.

with NgaBoard() as board:
    tid = board.world.add_topic("[讨论]标题", "正文")
    board.world.advance(hours=1)
    pid = board.world.reply(tid, "回复")
    board.expected_archive()[tid][1].source
"""

from standins.nga_board.board import NgaBoard
from standins.nga_board.dialect import Dialect
from standins.nga_board.ledger import ArchivedFloor, Version
from standins.nga_board.life import Life
from standins.nga_board.plan import Known, Plan, plan_run
from standins.nga_board.records import Attachment, Post, Topic
from standins.nga_board.served import Served, Shown
from standins.nga_board.world import World

__all__ = [
    "ArchivedFloor",
    "Attachment",
    "Dialect",
    "Known",
    "Life",
    "NgaBoard",
    "Plan",
    "Post",
    "Served",
    "Shown",
    "Topic",
    "Version",
    "World",
    "plan_run",
]
