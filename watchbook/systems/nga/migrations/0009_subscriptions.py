import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import watchbook.base.store.fields
import watchbook.systems.nga.models.forum


class Migration(migrations.Migration):
    dependencies = [
        ("nga", "0008_page_readings"),
        ("notify", "0010_rules"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Subscription",
            fields=[
                (
                    "id",
                    watchbook.systems.nga.models.forum.IdField(
                        db_comment="内部主键", primary_key=True, serialize=False
                    ),
                ),
                ("author_source_user_id", models.PositiveBigIntegerField(db_index=True, null=True)),
                ("author_name", models.CharField(default="", max_length=80)),
                ("notifies_posts", models.BooleanField(default=True)),
                ("notifies_edits", models.BooleanField(default=True)),
                ("is_starter_only", models.BooleanField(default=False)),
                ("created_at", watchbook.base.store.fields.WallTimeField()),
                (
                    "channels",
                    models.ManyToManyField(
                        db_table="forum_subscription_channels", related_name="+", to="notify.notificationchannel"
                    ),
                ),
                (
                    "thread",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subscriptions",
                        to="nga.thread",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="forum_subscriptions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "forum_subscriptions",
                "db_table_comment": "用户对主题或作者的通知订阅",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "thread"), name="forum_subscriptions_thread_once"),
                    models.UniqueConstraint(
                        fields=("user", "author_source_user_id"), name="forum_subscriptions_author_once"
                    ),
                ],
            },
        ),
    ]
