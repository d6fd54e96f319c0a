"""The ledger on the user's own SQLAlchemy engine: handlers write with their sessions, in the receipt's transaction."""
