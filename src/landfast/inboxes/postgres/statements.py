"""The driver's SQL by name, read once."""

from __future__ import annotations

from landfast import sqlfiles

SQL = sqlfiles.statements(__package__)
MIGRATIONS = sqlfiles.migrations(__package__)
