from typing import Any

import django.db.models.functions.datetime
from django.db import migrations, models
from django.db.migrations.operations.base import Operation

import watchbook.base.clock


class AlterTogether(migrations.SeparateDatabaseAndState):
    """Change many columns of one table. SQLite rebuilds a table for each change; this rebuilds it once."""

    def __init__(self, model_name: str, operations: list[Operation]) -> None:
        super().__init__(database_operations=operations, state_operations=operations)
        self.model_name = model_name

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return "AlterTogether", [self.model_name, self.database_operations], {}

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "sqlite":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        after = from_state.clone()
        for operation in self.state_operations:
            operation.state_forwards(app_label, after)
        schema_editor._remake_table(after.apps.get_model(app_label, self.model_name))


class Migration(migrations.Migration):
    dependencies = [
        ("notes", "0002_claimed_by"),
    ]

    operations = [
        migrations.AddField(
            model_name="breaker",
            name="failed_note",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="breaker",
            name="failures",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="breaker",
            name="responded_at",
            field=models.DateTimeField(default=None, null=True),
        ),
        migrations.AddField(
            model_name="breaker",
            name="several",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="cookielease",
            name="error_code",
            field=models.CharField(blank=True, default="", max_length=40),
        ),
        migrations.AddField(
            model_name="cookielease",
            name="error_reason",
            field=models.CharField(blank=True, default="", max_length=40),
        ),
        AlterTogether(
            "candidate",
            [
                migrations.AlterField(
                    model_name="candidate",
                    name="claimed_by",
                    field=models.CharField(blank=True, db_default="", default="", max_length=100),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="created_at",
                    field=models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=watchbook.base.clock.now
                    ),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="exec_meta",
                    field=models.JSONField(db_default={}, default=dict),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="last_error_code",
                    field=models.CharField(blank=True, db_default="", default="", max_length=40),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="last_error_message",
                    field=models.CharField(blank=True, db_default="", default="", max_length=500),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="last_error_reason",
                    field=models.CharField(blank=True, db_default="", default="", max_length=40),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="note_url",
                    field=models.CharField(blank=True, db_default="", default="", max_length=2048),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="platform",
                    field=models.CharField(db_default="xhs", default="xhs", max_length=30),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="queued_at",
                    field=models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=watchbook.base.clock.now
                    ),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="retry_count",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="source_keyword",
                    field=models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="status",
                    field=models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("processing", "Processing"),
                            ("collected", "Collected"),
                            ("failed", "Failed"),
                        ],
                        db_default="pending",
                        default="pending",
                        max_length=12,
                    ),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="title",
                    field=models.CharField(blank=True, db_default="", default="", max_length=300),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="updated_at",
                    field=models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=watchbook.base.clock.now
                    ),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="xsec_source",
                    field=models.CharField(blank=True, db_default="", default="", max_length=40),
                ),
                migrations.AlterField(
                    model_name="candidate",
                    name="xsec_token",
                    field=models.TextField(blank=True, db_default="", default=""),
                ),
                migrations.AddConstraint(
                    model_name="candidate",
                    constraint=models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "processing", "collected", "failed"])),
                        name="tbl_candidate_status",
                    ),
                ),
            ],
        ),
        AlterTogether(
            "cookie",
            [
                migrations.AlterField(
                    model_name="cookie",
                    name="consecutive_errors",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="cooling_round",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="created_at",
                    field=models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=watchbook.base.clock.now
                    ),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="daily_limit",
                    field=models.PositiveIntegerField(db_default=200, default=200),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="daily_used",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="encryption_key_id",
                    field=models.CharField(blank=True, db_default="", default="", max_length=40),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="fingerprint",
                    field=models.CharField(blank=True, db_default="", default="", max_length=64),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="last_error_code",
                    field=models.CharField(blank=True, db_default="", default="", max_length=40),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="last_error_reason",
                    field=models.CharField(blank=True, db_default="", default="", max_length=40),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="platform",
                    field=models.CharField(db_default="xhs", default="xhs", max_length=30),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="priority",
                    field=models.IntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="secret_version",
                    field=models.PositiveIntegerField(db_default=1, default=1),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="status",
                    field=models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("cooling", "Cooling down"),
                            ("invalid", "Invalid"),
                            ("banned", "Banned"),
                        ],
                        db_default="active",
                        default="active",
                        max_length=10,
                    ),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="total_errors",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="updated_at",
                    field=models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=watchbook.base.clock.now
                    ),
                ),
                migrations.AlterField(
                    model_name="cookie",
                    name="user_agent",
                    field=models.CharField(blank=True, db_default="", default="", max_length=400),
                ),
                migrations.AddConstraint(
                    model_name="cookie",
                    constraint=models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "cooling", "invalid", "banned"])),
                        name="tbl_cookie_status",
                    ),
                ),
            ],
        ),
        AlterTogether(
            "execution",
            [
                migrations.AlterField(
                    model_name="execution",
                    name="fence",
                    field=models.BigIntegerField(db_default=0),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="heartbeat_at",
                    field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="items_claimed",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="items_failed",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="items_processed",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="items_returned",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="request_id",
                    field=models.CharField(blank=True, db_default="", default="", max_length=128),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="started_at",
                    field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                migrations.AlterField(
                    model_name="execution",
                    name="status",
                    field=models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("timeout", "Timed out"),
                        ],
                        db_default="running",
                        default="running",
                        max_length=12,
                    ),
                ),
                migrations.AddConstraint(
                    model_name="execution",
                    constraint=models.CheckConstraint(
                        condition=models.Q(("status__in", ["running", "completed", "failed", "timeout"])),
                        name="tbl_execution_status",
                    ),
                ),
            ],
        ),
        AlterTogether(
            "note",
            [
                migrations.AlterField(
                    model_name="note",
                    name="author_id",
                    field=models.CharField(blank=True, db_default="", default="", max_length=64),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="author_name",
                    field=models.CharField(blank=True, db_default="", default="", max_length=100),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="collected_at",
                    field=models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=watchbook.base.clock.now
                    ),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="content",
                    field=models.TextField(blank=True, db_default="", default=""),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="counts",
                    field=models.JSONField(db_default={}, default=dict),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="exec_meta",
                    field=models.JSONField(db_default={}, default=dict),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="execution_id",
                    field=models.CharField(blank=True, db_default="", default="", max_length=100),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="last_error_code",
                    field=models.CharField(blank=True, db_default="", default="", max_length=40),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="media",
                    field=models.JSONField(db_default=[], default=list),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="note_type",
                    field=models.CharField(
                        choices=[("normal", "Pictures"), ("video", "Video")],
                        db_default="normal",
                        default="normal",
                        max_length=20,
                    ),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="note_url",
                    field=models.CharField(blank=True, db_default="", default="", max_length=2048),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="platform",
                    field=models.CharField(db_default="xhs", default="xhs", max_length=30),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="retry_count",
                    field=models.PositiveIntegerField(db_default=0, default=0),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="source_keyword",
                    field=models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="tags",
                    field=models.JSONField(db_default=[], default=list),
                ),
                migrations.AlterField(
                    model_name="note",
                    name="title",
                    field=models.CharField(blank=True, db_default="", default="", max_length=300),
                ),
                migrations.AddConstraint(
                    model_name="note",
                    constraint=models.CheckConstraint(
                        condition=models.Q(("note_type__in", ["normal", "video"])), name="tbl_source_type"
                    ),
                ),
            ],
        ),
    ]
