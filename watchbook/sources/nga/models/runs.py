"""What each run did, and what it did to each topic."""

from __future__ import annotations

from django.db import models

from watchbook.base.store.fields import WallTimeField
from watchbook.sources.nga.models.columns import IdField, created_at, updated_at
from watchbook.sources.nga.models.forum import Forum, Thread


class CrawlRun(models.Model):
    id = IdField()
    forum = models.ForeignKey(Forum, models.CASCADE, related_name="runs", db_comment="版块（forums.id）")
    run_started_at = WallTimeField(db_comment="本次运行开始")
    run_finished_at = WallTimeField(null=True, db_comment="本次运行结束")
    run_trigger_text = models.CharField(max_length=30, db_comment="`schedule_12h` / `manual`")
    date_window_start = models.DateField(db_comment="自然日窗口起（上海时区）")
    date_window_end = models.DateField(db_comment="自然日窗口止（上海时区）")
    thread_scanned_count = models.PositiveIntegerField(default=0, db_comment="扫描主题数")
    thread_change_detected_count = models.PositiveIntegerField(default=0, db_comment="last_reply_at 变化判定数")
    thread_updated_count = models.PositiveIntegerField(default=0, db_comment="实际更新成功数")
    http_request_count = models.PositiveIntegerField(default=0, db_comment="请求数（排查限速/退避用）")
    created_at = created_at()
    updated_at = updated_at()

    class Meta:
        db_table = "crawl_runs"
        db_table_comment = "抓取运行记录（每次 12 小时任务/手动任务的汇总审计）"
        indexes = [models.Index(fields=["run_started_at"], name="crawl_runs_started_idx")]


class CrawlRunThread(models.Model):
    id = IdField()
    crawl_run = models.ForeignKey(
        CrawlRun, models.CASCADE, related_name="threads", db_comment="所属 run（crawl_runs.id）"
    )
    thread = models.ForeignKey(Thread, models.CASCADE, related_name="run_threads", db_comment="主题（threads.id）")
    change_detected_by_last_reply_at = models.BooleanField(db_comment="是否因 last_reply_at 变化入队")
    detected_last_reply_at = WallTimeField(null=True, db_comment="本次检测到的 last_reply_at")
    # Wider than a byte: a topic that is asked for by name is read without a limit.
    fetched_page_count = models.PositiveSmallIntegerField(default=0, db_comment="实抓页数（<=5）")
    page_limit_applied = models.BooleanField(default=False, db_comment="是否触发页上限")
    new_post_count = models.PositiveIntegerField(default=0, db_comment="新增楼层数")
    updated_post_count = models.PositiveIntegerField(default=0, db_comment="更新楼层数（编辑/删/折叠）")
    http_error_code = models.PositiveIntegerField(null=True, db_comment="失败时 HTTP code")
    error_summary = models.CharField(max_length=200, null=True, db_comment="明确错误摘要（不使用 remark/ext）")
    started_at = WallTimeField(db_comment="开始处理该主题")
    finished_at = WallTimeField(null=True, db_comment="完成处理该主题")

    class Meta:
        db_table = "crawl_run_threads"
        db_table_comment = "抓取运行-主题明细（每次 run 对每个主题的处理结果与错误信息）"
