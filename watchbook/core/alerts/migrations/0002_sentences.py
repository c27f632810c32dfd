from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerts", "0001_initial")]

    operations = [
        # The columns stay as they are: in the program they have another name now.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("alert", "title", "english_title"),
                migrations.RenameField("alert", "message", "english_message"),
                migrations.RenameField("alert", "note", "english_note"),
                migrations.AlterField("alert", "english_title", models.CharField(db_column="title", max_length=300)),
                migrations.AlterField(
                    "alert", "english_message", models.TextField(blank=True, db_column="message", default="")
                ),
                migrations.AlterField(
                    "alert", "english_note", models.CharField(blank=True, db_column="note", default="", max_length=500)
                ),
            ],
        ),
        migrations.AddField("alert", "sentences", models.JSONField(blank=True, default=dict)),
        migrations.AddField("alert", "note_sentence", models.JSONField(blank=True, default=dict)),
    ]
