from django.db import migrations, models

import watchbook.base.clock
import watchbook.base.store.fields


class Migration(migrations.Migration):
    dependencies = [
        ("nga", "0009_subscriptions"),
    ]

    operations = [
        migrations.CreateModel(
            name="FollowedAuthor",
            fields=[
                ("author_source_user_id", models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ("author_name", models.CharField(default="", max_length=80)),
                ("followed_at", watchbook.base.store.fields.WallTimeField()),
                ("next_check_at", watchbook.base.store.fields.WallTimeField(db_index=True)),
                ("failure_count", models.PositiveIntegerField(default=0)),
                (
                    "updated_at",
                    watchbook.base.store.fields.WallTimeField(db_comment="更新时间", default=watchbook.base.clock.now),
                ),
            ],
            options={
                "db_table": "followed_authors",
                "db_table_comment": "持续关注的作者（归档其在任意版块新发的主题）",
            },
        ),
    ]
