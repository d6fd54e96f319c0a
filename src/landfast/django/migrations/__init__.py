"""They make no table. They tell `makemigrations` that it has nothing to do."""
