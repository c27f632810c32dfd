import django.db.models.deletion
from django.db import migrations, models

import watchbook.base.store.fields

# A page was certainly read whole when its first post was stored: a repair stores later posts without comparing the
# others. Each page is due at once, and the daily budget decides the order. The division leaves no rest, so that every
# database gives the same number.
FILL = """
INSERT INTO thread_page_readings (thread_id, page_number, read_at, quiet_since, weight, next_reread_at)
SELECT p.thread_id, (p.floor_number - p.floor_number %% 20) / 20 + 1, MIN(p.created_at), MAX(p.post_created_at), 1,
    MIN(p.created_at)
FROM posts p GROUP BY p.thread_id, (p.floor_number - p.floor_number %% 20) / 20 + 1
"""


def fill(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(FILL, [])


class Migration(migrations.Migration):
    dependencies = [
        ("nga", "0007_post_facts"),
    ]

    operations = [
        migrations.AlterField(
            model_name="crawlrunresult",
            name="run_kind",
            field=models.CharField(
                choices=[("list", "List"), ("topic", "Topic"), ("repair", "Repair"), ("reread", "Reread")],
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="ThreadPageReading",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "thread_id", "page_number", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("page_number", models.PositiveIntegerField()),
                ("read_at", watchbook.base.store.fields.WallTimeField()),
                ("quiet_since", watchbook.base.store.fields.WallTimeField()),
                ("weight", models.PositiveSmallIntegerField(default=1)),
                ("next_reread_at", watchbook.base.store.fields.WallTimeField()),
                (
                    "thread",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="page_readings",
                        to="nga.thread",
                    ),
                ),
            ],
            options={
                "db_table": "thread_page_readings",
                "db_table_comment": "主题各页最近一次完整读取的时间与下次复读时间",
                "indexes": [
                    models.Index(fields=["weight", "next_reread_at"], name="page_readings_due_idx"),
                    models.Index(fields=["weight", "quiet_since"], name="page_readings_newest_idx"),
                ],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
