from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("library", "0010_newest_of_several_spaces")]

    operations = [
        migrations.AddIndex(
            model_name="pagelink",
            index=models.Index(fields=["kind", "key", "page"], name="page_links_linking"),
        ),
        migrations.RemoveIndex(model_name="pagelink", name="page_links_target"),
    ]
