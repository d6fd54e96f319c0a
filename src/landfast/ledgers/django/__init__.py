"""The ledger on a database of Django's, through Django's own connection: what the ORM writes is in our transaction.

Statements of Landfast's own go over the driver below it (psycopg, psycopg2, sqlite3). Handlers run in the thread that
has the transaction, because Django's connections belong to threads.
"""
