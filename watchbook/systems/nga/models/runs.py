"""Runs and audits: what each did, topic by topic and post by post."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models.functions import Coalesce

from watchbook.base.clock import SHANGHAI
from watchbook.base.store.fields import WallTimeField
from watchbook.systems.nga.models.forum import (
    ByteField,
    Forum,
    IdField,
    Thread,
    created_at,
    known_values,
    updated_at,
)

# Who began a run: the two of the specification, then the jobs that were added.
RUN_TRIGGERS = ("schedule_12h", "manual", "audit", "follow", "reread")
AUDIT_TRIGGERS = ("manual", "cron")


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
        constraints = [known_values("run_trigger_text", RUN_TRIGGERS, "crawl_runs_trigger_known")]


# A topic that was skipped on purpose has a reason in `error_summary` and did not fail.
THREAD_SKIPPED = models.Q(error_summary__startswith="skipped:")
THREAD_FAILED = (models.Q(error_summary__isnull=False) & ~THREAD_SKIPPED) | models.Q(http_error_code__isnull=False)


class RunKind(models.TextChoices):
    LIST = "list"
    TOPIC = "topic"
    REPAIR = "repair"
    REREAD = "reread"


class CrawlRunResult(models.Model):
    """The result of a run and its error; the specification has no column for them. Health is judged from it."""

    crawl_run = models.OneToOneField(CrawlRun, models.CASCADE, primary_key=True, related_name="result")
    run_kind = models.CharField(max_length=10, choices=RunKind.choices)
    # The topic list was read to its end: only this proves that the board was read.
    is_list_complete = models.BooleanField(default=False)
    error_code = models.CharField(max_length=60, default="")
    error_summary = models.CharField(max_length=200, default="")
    http_error_code = models.PositiveIntegerField(null=True)
    finished_at = WallTimeField()

    class Meta:
        db_table = "crawl_run_results"
        db_table_comment = "抓取运行的结果与失败原因（健康状态的依据）"
        indexes = [models.Index(fields=["run_kind", "crawl_run"], name="crawl_run_results_kind_idx")]
        constraints = [known_values("run_kind", RunKind.values, "crawl_run_results_kind_known")]


class RunThreadQuerySet(models.QuerySet["CrawlRunThread"]):
    def since_newest_audit(self) -> RunThreadQuerySet:
        """Rows of runs that began after the newest finished audit; all rows before the first audit."""
        newest = ThreadFloorAuditRun.objects.exclude(run_finished_at=None).order_by("-pk").values("run_started_at")[:1]
        beginning = models.Value(datetime(1970, 1, 2, tzinfo=SHANGHAI), output_field=WallTimeField())
        return self.filter(crawl_run__run_started_at__gte=Coalesce(models.Subquery(newest), beginning))


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

    objects = RunThreadQuerySet.as_manager()

    class Meta:
        db_table = "crawl_run_threads"
        db_table_comment = "抓取运行-主题明细（每次 run 对每个主题的处理结果与错误信息）"


MOST_ATTEMPTS = 3


class ThreadRepair(models.TextChoices):
    MISSING = "missing"
    REPAIRED = "repaired"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"


class FloorRepair(models.TextChoices):
    MISSING = "missing"
    IGNORED = "ignored"
    REPAIRED = "repaired"
    STILL_MISSING = "still_missing"
    FAILED = "failed"


class ErrorCategory(models.TextChoices):
    HTTP = "http"
    PARSE = "parse"
    DB = "db"
    UNKNOWN = "unknown"


class ThreadFloorAuditRun(models.Model):
    id = IdField()
    run_started_at = WallTimeField(db_comment="审计开始时间")
    run_finished_at = WallTimeField(null=True, db_comment="审计结束时间")
    run_trigger_text = models.CharField(max_length=30, db_comment="触发来源（manual/cron）")
    repair_enabled = models.BooleanField(db_comment="是否包含修补步骤")
    total_thread_count = models.PositiveIntegerField(default=0, db_comment="扫描主题数")
    missing_thread_count = models.PositiveIntegerField(default=0, db_comment="缺楼层主题数")
    repaired_thread_count = models.PositiveIntegerField(default=0, db_comment="修补成功主题数")
    partial_thread_count = models.PositiveIntegerField(default=0, db_comment="修补未完全主题数")
    failed_thread_count = models.PositiveIntegerField(default=0, db_comment="修补失败主题数")
    failed_http_count = models.PositiveIntegerField(default=0, db_comment="修补失败（HTTP 类）统计")
    failed_parse_count = models.PositiveIntegerField(default=0, db_comment="修补失败（解析类）统计")
    failed_db_count = models.PositiveIntegerField(default=0, db_comment="修补失败（数据库类）统计")
    failed_unknown_count = models.PositiveIntegerField(default=0, db_comment="修补失败（未知类）统计")
    created_at = created_at()
    updated_at = updated_at()

    class Meta:
        db_table = "thread_floor_audit_runs"
        db_table_comment = "主题缺楼层审计运行记录"
        constraints = [known_values("run_trigger_text", AUDIT_TRIGGERS, "audit_runs_trigger_known")]


class AuditThreadQuerySet(models.QuerySet["ThreadFloorAuditThread"]):
    def open_in_newest(self) -> AuditThreadQuerySet:
        """Topics of the newest audit that still lack floors."""
        newest = ThreadFloorAuditRun.objects.exclude(run_finished_at=None).order_by("-pk").values("pk")[:1]
        # MariaDB takes no LIMIT inside of IN; a plain comparison with one value it does.
        return self.filter(audit_run_id=models.Subquery(newest)).exclude(repair_status=ThreadRepair.REPAIRED)


class ThreadFloorAuditThread(models.Model):
    id = IdField()
    audit_run = models.ForeignKey(
        ThreadFloorAuditRun,
        models.CASCADE,
        related_name="threads",
        db_comment="所属审计运行（thread_floor_audit_runs.id）",
    )
    thread = models.ForeignKey(
        Thread, models.CASCADE, related_name="audit_threads", db_comment="所属主题（threads.id）"
    )
    source_thread_id = models.PositiveBigIntegerField(db_comment="NGA tid")
    max_floor_number = models.PositiveIntegerField(db_comment="修补前最大楼层号（0 基）")
    post_count = models.PositiveIntegerField(db_comment="修补前楼层条数")
    missing_floor_count = models.PositiveIntegerField(db_comment="缺失楼层数量")
    ignored_floor_count = models.PositiveIntegerField(default=0, db_comment="因超次数跳过的楼层数量")
    repair_status = models.CharField(
        max_length=20,
        choices=ThreadRepair.choices,
        default=ThreadRepair.MISSING,
        db_comment="修补状态（missing/repaired/partial/failed/skipped）",
    )
    repair_crawl_run_id = models.PositiveBigIntegerField(null=True, db_comment="修补触发的 crawl_runs.id")
    repair_attempted_at = WallTimeField(null=True, db_comment="修补开始时间")
    repair_finished_at = WallTimeField(null=True, db_comment="修补结束时间")
    repair_after_max_floor_number = models.PositiveIntegerField(null=True, db_comment="修补后最大楼层号（0 基）")
    repair_after_post_count = models.PositiveIntegerField(null=True, db_comment="修补后楼层条数")
    repair_remaining_floor_count = models.PositiveIntegerField(null=True, db_comment="修补后仍缺楼层数量")
    repair_error_summary = models.CharField(max_length=200, null=True, db_comment="修补失败摘要")
    repair_error_category = models.CharField(
        max_length=20,
        null=True,
        choices=ErrorCategory.choices,
        db_comment="修补失败归因（http/parse/db/unknown）",
    )
    repair_http_error_code = models.PositiveSmallIntegerField(null=True, db_comment="修补失败的 HTTP 状态码")
    created_at = created_at()
    updated_at = updated_at()

    objects = AuditThreadQuerySet.as_manager()

    class Meta:
        db_table = "thread_floor_audit_threads"
        db_table_comment = "主题缺楼层审计明细与修补结果"
        constraints = [
            known_values("repair_status", ThreadRepair.values, "audit_threads_status_known"),
            known_values("repair_error_category", ErrorCategory.values, "audit_threads_error_known"),
        ]


class ThreadFloorAuditPost(models.Model):
    id = IdField()
    audit_run = models.ForeignKey(
        ThreadFloorAuditRun,
        models.CASCADE,
        related_name="posts",
        db_comment="所属审计运行（thread_floor_audit_runs.id）",
    )
    audit_thread = models.ForeignKey(
        ThreadFloorAuditThread,
        models.CASCADE,
        related_name="posts",
        db_comment="所属审计主题（thread_floor_audit_threads.id）",
    )
    thread_id = models.PositiveBigIntegerField(db_comment="主题（threads.id）")
    source_thread_id = models.PositiveBigIntegerField(db_comment="NGA tid")
    floor_number = models.PositiveIntegerField(db_comment="缺失楼层号（0 基）")
    repair_status = models.CharField(
        max_length=20,
        choices=FloorRepair.choices,
        default=FloorRepair.MISSING,
        db_comment="修补状态（missing/ignored/repaired/still_missing/failed）",
    )
    attempt_count_before = models.PositiveSmallIntegerField(default=0, db_comment="修补前尝试次数")
    attempt_count_after = models.PositiveSmallIntegerField(null=True, db_comment="修补后尝试次数")
    repair_error_category = models.CharField(
        max_length=20,
        null=True,
        choices=ErrorCategory.choices,
        db_comment="修补失败归因（http/parse/db/unknown）",
    )
    repair_http_error_code = models.PositiveSmallIntegerField(null=True, db_comment="修补失败的 HTTP 状态码")
    repair_error_summary = models.CharField(max_length=200, null=True, db_comment="修补失败摘要")
    created_at = created_at()
    updated_at = updated_at()

    class Meta:
        db_table = "thread_floor_audit_posts"
        db_table_comment = "缺楼层审计楼层明细（按楼层记录修补结果）"
        constraints = [
            models.UniqueConstraint(fields=["audit_thread", "floor_number"], name="audit_posts_thread_floor_unique"),
            known_values("repair_status", FloorRepair.values, "audit_posts_status_known"),
            known_values("repair_error_category", ErrorCategory.values, "audit_posts_error_known"),
        ]


class ThreadFloorRepairAttempt(models.Model):
    id = IdField()
    thread_id = models.PositiveBigIntegerField(db_comment="主题（threads.id）")
    source_thread_id = models.PositiveBigIntegerField(db_comment="NGA tid")
    floor_number = models.PositiveIntegerField(db_comment="缺失楼层号（0 基）")
    attempt_count = ByteField(default=0, db_comment="修补尝试次数（单楼层累计）")
    last_attempted_at = WallTimeField(null=True, db_comment="最近一次尝试时间")
    created_at = created_at()
    updated_at = updated_at()

    class Meta:
        db_table = "thread_floor_repair_attempts"
        db_table_comment = "楼层修补尝试次数记录"
        constraints = [
            models.UniqueConstraint(fields=["thread_id", "floor_number"], name="repair_attempts_thread_floor_unique")
        ]
