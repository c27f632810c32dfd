from django.db import migrations, models

import watchbook.base.clock


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=200)),
                ("live_slot", models.CharField(default=None, max_length=200, null=True, unique=True)),
                ("level", models.CharField(choices=[("P0", "P0"), ("P1", "P1"), ("P2", "P2")], max_length=2)),
                ("source", models.CharField(blank=True, default="", max_length=40)),
                ("title", models.CharField(max_length=300)),
                ("message", models.TextField(blank=True, default="")),
                ("link", models.CharField(blank=True, default="", max_length=2048)),
                ("opened_at", models.DateTimeField(default=watchbook.base.clock.now)),
                ("seen_at", models.DateTimeField(default=watchbook.base.clock.now)),
                ("closed_at", models.DateTimeField(default=None, null=True)),
                ("note", models.CharField(blank=True, default="", max_length=500)),
            ],
            options={
                "db_table": "alerts",
                "indexes": [
                    models.Index(fields=["key", "-opened_at"], name="alerts_by_key"),
                    models.Index(fields=["-opened_at"], name="alerts_opened"),
                ],
            },
        ),
    ]
