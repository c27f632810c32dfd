import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0001_initial")]

    operations = [
        migrations.RenameModel("Blob", "SortedList"),
        migrations.AlterModelTable("SortedList", "sorted_lists"),
        migrations.AddField("SortedList", "packed_sha256", models.CharField(max_length=64, null=True)),
        migrations.CreateModel(
            name="Blob",
            fields=[
                ("sha256", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("size", models.PositiveBigIntegerField()),
                ("place", models.CharField(max_length=20)),
                ("put_at", models.DateTimeField()),
            ],
            options={"db_table": "stored_blobs"},
        ),
        migrations.CreateModel(
            name="BlobChunk",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("data", models.BinaryField()),
                (
                    "blob",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="chunks", to="store.blob"
                    ),
                ),
            ],
            options={
                "db_table": "stored_blob_chunks",
                "constraints": [
                    models.UniqueConstraint(fields=("blob", "position"), name="stored_blob_chunks_position")
                ],
            },
        ),
        migrations.CreateModel(
            name="BlobReference",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("owner_kind", models.CharField(max_length=40)),
                ("owner_id", models.CharField(max_length=64)),
                (
                    "blob",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="references", to="store.blob"
                    ),
                ),
            ],
            options={
                "db_table": "stored_blob_references",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner_kind", "owner_id", "blob"), name="stored_blob_references_owner"
                    )
                ],
            },
        ),
    ]
