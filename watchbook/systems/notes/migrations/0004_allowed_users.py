import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import watchbook.base.clock


class Migration(migrations.Migration):
    dependencies = [
        ("notes", "0003_defaults_and_outage"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AllowedUser",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("allowed_at", models.DateTimeField(default=watchbook.base.clock.now)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "notes_allowed_users",
            },
        ),
    ]
