"""The project's inbox, for processes that Django has not set up: `landfast work landfast.django.app:inbox` with
DJANGO_SETTINGS_MODULE in the environment. `manage.py landfast` names it so to the processes that it starts."""

from __future__ import annotations

import django

from landfast.django.discovery import find_inbox

django.setup()
inbox = find_inbox()
