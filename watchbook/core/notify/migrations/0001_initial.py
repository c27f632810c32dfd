import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import watchbook.base.clock


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("event_id", models.CharField(max_length=200)),
                ("source", models.CharField(max_length=40)),
                ("kind", models.CharField(max_length=60)),
                ("subject", models.CharField(max_length=300)),
                ("payload", models.JSONField(default=dict)),
                ("text", models.TextField(blank=True, default="")),
                ("html", models.TextField(blank=True, default="")),
                ("link", models.CharField(blank=True, default="", max_length=2048)),
                ("reference", models.CharField(blank=True, default="", max_length=200)),
                ("bypass_digest", models.BooleanField(default=False)),
                ("window_at", models.DateTimeField(default=None, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("sent", "Sent"),
                            ("failed", "Failed"),
                            ("skipped", "Skipped"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("next_at", models.DateTimeField(default=None, null=True)),
                ("owner", models.CharField(blank=True, default="", max_length=120)),
                ("fence", models.BigIntegerField(default=0)),
                ("lease_until", models.DateTimeField(default=None, null=True)),
                ("live_slot", models.UUIDField(default=None, null=True, unique=True)),
                ("last_status", models.PositiveIntegerField(default=None, null=True)),
                ("error_code", models.CharField(blank=True, default="", max_length=40)),
                ("last_error", models.CharField(blank=True, default="", max_length=500)),
                ("last_body", models.TextField(blank=True, default="")),
                ("sequence", models.PositiveBigIntegerField(default=None, null=True)),
                ("sent_at", models.DateTimeField(default=None, null=True)),
                ("created_at", models.DateTimeField(default=watchbook.base.clock.now)),
                (
                    "bundle",
                    models.ForeignKey(
                        default=None,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="members",
                        to="notify.delivery",
                    ),
                ),
            ],
            options={
                "db_table": "notification_outbox",
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("at", models.DateTimeField()),
                ("duration_ms", models.PositiveIntegerField(default=0)),
                ("succeeded", models.BooleanField()),
                ("is_permanent", models.BooleanField(default=False)),
                ("status", models.PositiveIntegerField(default=None, null=True)),
                ("error_code", models.CharField(blank=True, default="", max_length=40)),
                ("error", models.CharField(blank=True, default="", max_length=500)),
                (
                    "delivery",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attempts", to="notify.delivery"
                    ),
                ),
            ],
            options={
                "db_table": "notification_attempts",
            },
        ),
        migrations.CreateModel(
            name="NotificationChannel",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        db_comment="主键", default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(db_comment="渠道名称（用户自定义）", max_length=255)),
                (
                    "channel_type",
                    models.CharField(
                        choices=[("email", "E-mail"), ("webhook", "Webhook"), ("apprise", "Apprise service")],
                        db_comment="渠道类型",
                        max_length=20,
                    ),
                ),
                ("config", models.JSONField(db_comment="渠道配置（可示部分）", default=dict)),
                ("is_active", models.BooleanField(db_comment="是否启用", default=True)),
                ("last_test_at", models.DateTimeField(db_comment="最后测试时间", default=None, null=True)),
                ("last_test_success", models.BooleanField(db_comment="最后测试是否成功", default=None, null=True)),
                ("created_at", models.DateTimeField(db_comment="创建时间", default=watchbook.base.clock.now)),
                ("updated_at", models.DateTimeField(db_comment="最后更新时间", default=watchbook.base.clock.now)),
                ("secret", models.TextField(blank=True, default="")),
                (
                    "digest",
                    models.CharField(
                        choices=[("immediate", "At once"), ("hourly", "Every hour"), ("daily", "Every day")],
                        default="immediate",
                        max_length=12,
                    ),
                ),
                (
                    "alert_level",
                    models.CharField(
                        blank=True, choices=[("P0", "P0"), ("P1", "P1"), ("P2", "P2")], default="", max_length=2
                    ),
                ),
                ("disabled_reason", models.CharField(blank=True, default="", max_length=40)),
                ("failure_count", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(default=None, null=True)),
                ("blocked_until", models.DateTimeField(default=None, null=True)),
                ("owner_told_at", models.DateTimeField(default=None, null=True)),
                ("last_sequence", models.PositiveBigIntegerField(default=0)),
                ("last_duration_ms", models.PositiveIntegerField(default=0)),
                ("house_slot", models.UUIDField(default=None, null=True, unique=True)),
                (
                    "user",
                    models.ForeignKey(
                        db_comment="所属用户",
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="channels",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "notification_channels",
                "db_table_comment": "通知渠道",
            },
        ),
        migrations.AddField(
            model_name="delivery",
            name="channel",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="notify.notificationchannel"
            ),
        ),
        migrations.AddIndex(
            model_name="notificationchannel",
            index=models.Index(fields=["user"], name="idx_channel_user"),
        ),
        migrations.AddIndex(
            model_name="notificationchannel",
            index=models.Index(fields=["alert_level"], name="idx_channel_alert_level"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["state", "next_at"], name="outbox_due"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["channel", "-id"], name="outbox_log"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["created_at"], name="outbox_created"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("event_id", "channel"), name="outbox_event_channel"),
        ),
    ]
