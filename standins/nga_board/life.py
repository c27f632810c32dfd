"""A little everyday life on the board: people write, edit and note, moderators delete and pin."""

from __future__ import annotations

import random

from standins.nga_board.records import Attachment, Topic
from standins.nga_board.world import World

PREFIXES = ("讨论", "水一帖", "求助", "分享", "活动")
MATTERS = ("副本掉落", "职业平衡", "怀旧服开荒", "坐骑收集", "公会招募", "大秘境手法", "剧情讨论", "界面插件")
PHRASES = (
    "说得对。", "[b]重点[/b]在后面。", "[quote]楼上说得好[/quote]同意。", "一张图：[img]./mon_202606/01/a1.png[/img]",
    "😂 笑死", "C:\\Games\\WoW\\Interface\\AddOns", "+1", "007", "[s:ac:哭笑]", "[url=https://example.com/]链接[/url]",
    "第一行\n第二行\n第三行", "[collapse=剧透]结局[/collapse]", "价格 <100金> & 更便宜", "[del]错了[/del] 更正",
)  # fmt: skip
NAMES = ("晨星", "夜雨", "青山", "白鹿", "南风", "北斗", "123456", "远帆", "苔原")


class Life:
    """The same seed lives the same life."""

    def __init__(self, world: World, seed: int = 7) -> None:
        self.world = world
        self.random = random.Random(seed)

    def days(self, days: int, *, topics_a_day: int = 6) -> None:
        """So many days up to now, each with its topics and answers."""
        self.world.advance(days=-days)
        for _ in range(days * topics_a_day):
            self.world.advance(hours=24 / topics_a_day)
            self.topic(self.random.randint(0, 30))

    def topic(self, replies: int) -> int:
        chance, world = self.random, self.world
        title = f"[{chance.choice(PREFIXES)}]{chance.choice(MATTERS)}，第{len(world.topics) + 1}问"
        tid = world.add_topic(title, self.words(), author=chance.choice(NAMES), anonymous=chance.random() < 0.1)
        for _ in range(replies):
            self.reply(tid)
        return tid

    def reply(self, tid: int) -> int:
        chance, world = self.random, self.world
        topic = world.topics[tid]
        known = [post.pid for post in topic.posts.values() if post.parent is None and not post.is_absent]
        if len(known) > 1 and chance.random() < 0.1:
            return world.note(tid, chance.choice(known), f"贴条：{self.words()}", author=chance.choice(NAMES))
        files = [Attachment(f"mon_202606/01/{chance.randrange(16**6):06x}.jpg")] if chance.random() < 0.05 else []
        is_anonymous = chance.random() < 0.1
        return world.reply(
            tid, self.words(), author=chance.choice(NAMES), anonymous=is_anonymous, attachments=files
        )  # fmt: skip

    def words(self) -> str:
        return " ".join(self.random.sample(PHRASES, self.random.randint(1, 3)))

    def live(self, times: int = 1, *, longest_minutes: int = 9) -> None:
        """Something happens: topics and replies come, a post is edited, now and then one goes."""
        for _ in range(times):
            self.world.advance(minutes=self.random.randint(min(1, longest_minutes), longest_minutes))
            with self.world.lock:
                self._step()

    def _step(self) -> None:
        chance, world = self.random, self.world
        alive = [topic for topic in world.topics.values() if not topic.refusal and topic.fid == world.fid]
        if not alive or chance.random() < 0.25:
            self.topic(chance.randint(0, 3))
            return
        topic = chance.choice(alive)
        self.reply(topic.tid)
        if chance.random() < 0.4:
            self._touch(topic)

    def _touch(self, topic: Topic) -> None:
        chance, world = self.random, self.world
        pid = chance.choice([post.pid for post in topic.posts.values() if not post.is_absent])
        kind = chance.random()
        if kind < 0.7:
            world.edit(topic.tid, pid, f"{self.words()}（已编辑）")
        elif kind < 0.85 and pid:
            world.delete(topic.tid, pid)
        else:
            world.fold(topic.tid, pid)
