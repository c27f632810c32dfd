from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reddit", "0006_comments"),
    ]

    operations = [
        migrations.AlterField(
            model_name="comment",
            name="found_by",
            field=models.CharField(
                choices=[
                    ("baseline", "First crawl"),
                    ("new", "Crawl"),
                    ("deep", "Full scan"),
                    ("top", "Top listing"),
                    ("batch", "Batch"),
                    ("import", "Import of a dump"),
                ],
                default="new",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="postraw",
            name="found_by",
            field=models.CharField(
                choices=[
                    ("baseline", "First crawl"),
                    ("new", "Crawl"),
                    ("deep", "Full scan"),
                    ("top", "Top listing"),
                    ("batch", "Batch"),
                    ("import", "Import of a dump"),
                ],
                default="new",
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="DumpImport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fingerprint", models.CharField(db_comment="of size and beginning of the file", max_length=64)),
                ("community_name", models.CharField(blank=True, default="", max_length=100)),
                ("file_name", models.CharField(max_length=200)),
                ("lines", models.BigIntegerField(default=0)),
                ("new", models.BigIntegerField(default=0)),
                ("updated", models.BigIntegerField(default=0)),
                ("unchanged", models.BigIntegerField(default=0)),
                ("versions", models.BigIntegerField(default=0)),
                ("skipped", models.JSONField(default=dict)),
                ("started_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "reddit_imports",
                "constraints": [
                    models.UniqueConstraint(fields=("fingerprint", "community_name"), name="reddit_imports_once")
                ],
            },
        ),
    ]
