from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notes", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="candidate",
            name="claimed_by",
            field=models.CharField(blank=True, default="", max_length=100),
        ),
        migrations.AddIndex(
            model_name="candidate",
            index=models.Index(fields=["claimed_by", "id"], name="tbl_candidate_of"),
        ),
    ]
