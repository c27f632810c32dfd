"""The list of channel types leaves the database, and two columns get plain names.

`channel_type_known` listed every type, so that a new type needed a migration beside its file in `channels`. The model
refuses unknown types in `save`, which all writers use. The seed names `email` and `webhook`; both stay.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("notify", "0005_channel_kinds")]

    operations = [
        migrations.RemoveConstraint(model_name="notificationchannel", name="channel_type_known"),
        migrations.RenameField("notificationchannel", "house_slot", "account_slot"),
        migrations.RenameField("notificationchannel", "owner_told_at", "owner_notified_at"),
    ]
