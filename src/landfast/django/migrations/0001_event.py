"""The model of the admin, which has no table."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies: ClassVar[list[tuple[str, str]]] = []
    operations: ClassVar[list[object]] = [
        migrations.CreateModel(
            name="Event",
            fields=[("id", models.CharField(max_length=32, primary_key=True, serialize=False))],
            options={
                "verbose_name": "event",
                "verbose_name_plural": "events",
                "managed": False,
                "default_permissions": ("view",),
                "base_manager_name": "objects",
            },
        ),
    ]
