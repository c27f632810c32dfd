import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import watchbook.base.clock


class Migration(migrations.Migration):
    dependencies = [
        ("reddit", "0005_points_and_crawls"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="crawlday",
            name="total_new_comments",
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="crawlmetrics",
            name="total_new_comments",
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name="crawl",
            name="kind",
            field=models.CharField(
                choices=[
                    ("new", "Crawl"),
                    ("full", "Full scan"),
                    ("top", "Top listing"),
                    ("comments", "Comments"),
                    ("comments_full", "Full scan of comments"),
                ],
                default="new",
                max_length=20,
            ),
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("comment_id", models.CharField(db_comment="without t1_", max_length=20, unique=True)),
                ("post_id", models.CharField(db_comment="of the thread, without t3_", max_length=20)),
                ("parent_id", models.CharField(db_comment="with prefix: t1_ comment, t3_ post", max_length=24)),
                ("subreddit", models.CharField(db_comment="as in community_pool: r/webdev", max_length=100)),
                ("thread_title", models.CharField(blank=True, default="", max_length=1000)),
                ("content", models.TextField(blank=True, default="")),
                ("author", models.CharField(blank=True, default="", max_length=60)),
                ("score", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                ("edited_at", models.DateTimeField(blank=True, null=True)),
                ("text_norm_hash", models.CharField(blank=True, default="", max_length=64)),
                ("version", models.IntegerField(default=1)),
                ("extra_data", models.JSONField(default=dict)),
                ("first_seen_at", models.DateTimeField()),
                ("valid_from", models.DateTimeField()),
                ("removed_by_category", models.CharField(blank=True, default="", max_length=60)),
                ("author_deleted", models.BooleanField(default=False)),
                (
                    "found_by",
                    models.CharField(
                        choices=[
                            ("baseline", "First crawl"),
                            ("new", "Crawl"),
                            ("deep", "Full scan"),
                            ("top", "Top listing"),
                            ("batch", "Batch"),
                        ],
                        default="new",
                        max_length=10,
                    ),
                ),
                ("seen_in_new", models.BooleanField(default=True)),
                ("observed_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField(default=watchbook.base.clock.now)),
                ("recheck_due", models.DateTimeField(blank=True, null=True)),
                ("recheck_step", models.SmallIntegerField(default=0)),
                ("missing_looks", models.SmallIntegerField(default=0)),
                ("blanked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "reddit_comments",
                "indexes": [
                    models.Index(fields=["post_id", "created_at"], name="reddit_comments_thread"),
                    models.Index(fields=["subreddit", "-created_at"], name="reddit_comments_community"),
                    models.Index(fields=["-created_at", "-id"], name="reddit_comments_newest"),
                    models.Index(fields=["author", "-created_at"], name="reddit_comments_author"),
                    models.Index(fields=["recheck_due"], name="reddit_comments_recheck"),
                    models.Index(fields=["first_seen_at"], name="reddit_comments_seen"),
                    models.Index(fields=["updated_at", "id"], name="reddit_comments_changed"),
                ],
            },
        ),
        migrations.CreateModel(
            name="CommentListing",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("last_crawled_at", models.DateTimeField(blank=True, null=True)),
                ("last_seen_created_at", models.DateTimeField(blank=True, null=True)),
                ("empty_hit", models.IntegerField(db_default=0, default=0)),
                ("success_hit", models.IntegerField(db_default=0, default=0)),
                ("failure_hit", models.IntegerField(db_default=0, default=0)),
                ("next_due", models.DateTimeField(default=watchbook.base.clock.now)),
                ("updated_at", models.DateTimeField(default=watchbook.base.clock.now)),
                ("rate", models.FloatField(default=0.0)),
                ("covered_from", models.DateTimeField(blank=True, null=True)),
                ("last_complete_at", models.DateTimeField(blank=True, null=True)),
                ("possible_gap", models.BooleanField(default=False)),
                ("gap_at", models.DateTimeField(blank=True, null=True)),
                ("gap_count", models.IntegerField(default=0)),
                (
                    "last_outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("ok", "Read"),
                            ("empty", "Empty"),
                            ("suspicious_empty", "Unexpectedly empty"),
                            ("private", "Private"),
                            ("banned", "Banned"),
                            ("nonexistent", "Does not exist"),
                            ("quarantined", "Quarantined"),
                            ("forbidden", "Access refused"),
                            ("throttled", "Too many requests (429)"),
                            ("upstream", "Reddit error (5xx)"),
                            ("unreachable", "Could not connect"),
                            ("wall", "Web page instead of data"),
                            ("garbage", "Unreadable response"),
                            ("auth", "Sign-in refused"),
                            ("busy", "Rate limited"),
                        ],
                        default="",
                        max_length=20,
                    ),
                ),
                ("failures_in_row", models.IntegerField(default=0)),
                ("refusals_in_row", models.IntegerField(default=0)),
                ("refused_since", models.DateTimeField(blank=True, null=True)),
                ("deep_walked_at", models.DateTimeField(blank=True, null=True)),
                ("request_count", models.BigIntegerField(default=0)),
                ("is_on", models.BooleanField(default=None, null=True)),
                ("last_seen_comment_id", models.CharField(blank=True, max_length=20, null=True)),
                (
                    "community",
                    models.OneToOneField(
                        db_column="community_name",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comment_listing",
                        to="reddit.communitycache",
                        to_field="community_name",
                    ),
                ),
            ],
            options={
                "db_table": "reddit_comment_listings",
                "indexes": [models.Index(fields=["next_due"], name="reddit_comments_due")],
            },
        ),
        migrations.CreateModel(
            name="CommentVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.IntegerField()),
                ("content", models.TextField(blank=True, default="")),
                ("text_norm_hash", models.CharField(max_length=64)),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField()),
                (
                    "comment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="versions", to="reddit.comment"
                    ),
                ),
            ],
            options={
                "db_table": "reddit_comment_versions",
                "constraints": [
                    models.UniqueConstraint(fields=("comment", "version"), name="reddit_comment_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ThreadLook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("post_id", models.CharField(max_length=20)),
                ("looked_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "reddit_thread_looks",
                "constraints": [models.UniqueConstraint(fields=("user", "post_id"), name="reddit_thread_looks_once")],
            },
        ),
    ]
