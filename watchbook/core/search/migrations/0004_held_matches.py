"""Matches of a saved search that wait until there are as many as its rule asks for."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0003_query_language")]

    operations = [
        migrations.AddField(
            model_name="savedsearchmatch",
            name="is_held",
            field=models.BooleanField(default=False),
        ),
    ]
