"""The ledger in a MySQL or MariaDB database of the user's. Handlers write on it through SQLAlchemy."""

from landfast.ledgers.mysql.ledger import MysqlLedger

__all__ = ["MysqlLedger"]
