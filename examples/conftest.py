"""The examples are tested with the real servers of Landfast's own tests."""

from tests.conftest import database, database_name, migrated, migrated_database, postgres, strange_lines

__all__ = ["database", "database_name", "migrated", "migrated_database", "postgres", "strange_lines"]
