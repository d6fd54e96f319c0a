"""Every error of Landfast, split by whose fault it is.

LandfastError
├── SenderError            the sender's: carries its HTTP answer, changes nothing
│   ├── UnknownSourceError      404
│   ├── WrongMethodError        405
│   ├── UnverifiedError         401, one generic text; `.reason` is for the operator only
│   ├── BodyTooLargeError       413
│   ├── UnsupportedEncodingError 415
│   ├── BadCallError            400, 404, 422: a call of an endpoint that is refused as it is
│   ├── ForbiddenError          403: not from this address, or not over HTTPS
│   ├── TooManyError            429 with Retry-After: a source or an event beyond its rate
│   └── FramingError            400, 408, 431: the request itself is broken
├── OverloadedError        ours, for a while: 503 with Retry-After
├── UserError              the developer's or operator's: one sentence that names the field and the fix; exit 2
│   ├── ConfigError
│   ├── FilterError             a filter cannot be read; it knows at which character
│   ├── AppError                the user's application cannot be imported or used
│   ├── StagingError            a handler stages what cannot be performed as it is asked for: a dead letter at once
│   ├── VerdictError            a handler raises a verdict that means nothing: a dead letter at once
│   ├── BoundElsewhereError     the inbox belongs to another ledger
│   └── NoDatabaseError         nobody has made the database yet
├── MalformedBodyError     verified, stored, and no handler can be given it: a dead letter with this reason
├── StoreError             a database's, or a journal's
│   ├── UnavailableError        it cannot take deliveries now; another may
│   │   ├── InboxUnavailableError   down, full, read-only, or its schema is broken
│   │   ├── JournalUnavailableError the same of a spool or a broker
│   │   └── PartUnavailableError    it cannot take a part of them now; the others it may
│   ├── TookTooLongError        an operator's question took longer than anybody waits for it
│   ├── RowRefusedError         the database refuses this row, whoever asks
│   ├── SealedError             it is sealed, and does not open
│   │   └── MasterKeyMissingError   for want of a master key that this process does not have; another may
│   ├── LedgerUnavailableError  an outage, or a schema error of Landfast's own statements
│   ├── TurnLostError           a retention pass is another's now: what is left is for that one
│   ├── ReceiptBusyError        another transaction holds this receipt: release, no attempt
│   ├── CommitUnknownError      no answer to COMMIT: never a failure, look at the receipt later
│   └── CommitRefusedError      the server answered COMMIT with an error: a failure like any other
├── TargetError            of a service that events are forwarded to
│   ├── NoAnswerError           there was no answer, or no connection: it may be away
│   └── TargetAnsweredError     it answered, and with no 2xx
├── HandlerEndedTransactionError  the handler's: it sent COMMIT or ROLLBACK itself
├── SwallowedDatabaseError        the handler's: it caught a database error without a savepoint
├── OwnConnectionError            the handler's: it waits for its own transaction, on another connection to the file
├── DeadlineError                 the handler's: it ran past its deadline
├── UnexpectedError               ours: a bug met while one event was worked on; that event's attempt fails
└── LoopEndedError                ours: a part of a worker ended too early, or not with it; the worker ends
"""

from __future__ import annotations

from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.ids import EventId


class LandfastError(Exception):
    """The root of everything that Landfast raises on purpose."""


class SenderError(LandfastError):
    """The request is at fault. It is answered, counted, and leaves no trace in the inbox. You meet it in the log, as
    the reason of a refusal."""

    answer = answer.error(400, "bad request")

    def __init__(self, reason: str = "", *, status: Answer | None = None) -> None:
        super().__init__(reason or type(self).__name__)
        self.reason = reason
        if status is not None:
            self.answer = status


class UnknownSourceError(SenderError):
    """Nothing is configured under this path. Look at the address that the sender was given: it ends in /in/SOURCE."""

    answer = answer.error(404, "no such source", close=True)


class WrongMethodError(SenderError):
    """Something else than POST, and no handshake of the provider: a browser, mostly."""

    answer = answer.error(405, "use POST", headers=((b"allow", b"POST"),), close=True)


class UnverifiedError(SenderError):
    """The proof does not hold. Whatever was wrong, the sender sees one text, and a forger learns nothing from it; the
    log says why, and `landfast verify-signature` more."""

    answer = answer.error(401, "signature not verified", close=True)


class BodyTooLargeError(SenderError):
    """The body has more bytes than `body_limit` of the source, or than its provider sends."""

    answer = answer.error(413, "body too large", close=True)


class UnsupportedEncodingError(SenderError):
    """The body is compressed, so what was signed cannot be told. Switch that off at the sender or the proxy."""

    answer = answer.error(415, "content-encoding not supported", close=True)


class BadCallError(SenderError):
    """A call of an endpoint without an `Idempotency-Key` or `X-Request-Timestamp`, with a body that cannot be read, or
    under a link that is not its own. Nothing is stored under its key."""


class ForbiddenError(SenderError):
    """The address is not in `allow_from`, or the request came over plain HTTP where `https_only` is set."""

    answer = answer.error(403, "not allowed from here", close=True)


class TooManyError(SenderError):
    """More than `rate`, `key_rate`, `event_rate` or `byte_rate` of the source. The sender comes again."""

    answer = answer.error(429, "too many requests", headers=((b"retry-after", b"5"),))


class FramingError(SenderError):
    """The request is no HTTP that can be read in one way only, or came too slowly."""

    answer = answer.error(400, "malformed request", close=True)


class OverloadedError(LandfastError):
    """What takes deliveries in is away or full. Nothing was stored, and the sender is asked to come again."""

    answer = answer.error(503, "try again later", headers=((b"retry-after", b"5"),))


class UserError(LandfastError):
    """One sentence that names the field and the fix. A command that meets it prints that sentence and exits with 2."""


class ConfigError(UserError):
    """A setting, source or secret is missing or wrong. It is raised before anything was changed."""


class FilterError(UserError):
    """A filter cannot be read. `position` is that of the first character that is wrong, `length` how many are."""

    def __init__(self, text: str, *, position: int, length: int) -> None:
        super().__init__(text)
        self.position = position
        self.length = length


class StagingError(UserError):
    """`tx.stage` cannot do what it was asked for: an effect that is not registered, arguments that do not fit, a name
    that is used twice, an `after` that names nothing. It would fail again, so the event is a dead letter at once."""


class VerdictError(UserError, ValueError):
    """A handler or effect raises a verdict that cannot be carried out: a time without its zone, a negative wait. It
    would fail again, so the event is a dead letter at once."""


class AppError(UserError):
    """The user's application cannot be imported, or is not an Inbox."""


class BoundElsewhereError(UserError):
    """This inbox is bound to another ledger, or this ledger to another inbox: `store` and `ledger` do not belong
    together. Working on would process events twice, so nothing starts."""


class NoDatabaseError(UserError):
    """Nobody has made it yet, or the settings that say where it is were not read."""

    fix = "run landfast migrate, or landfast serve, which make it; or correct store and ledger"

    def __str__(self) -> str:
        return f"{super().__str__()}; {self.fix}"


class MalformedBodyError(LandfastError):
    """The bytes are the sender's own, but no handler can be given them: they are no JSON, or nested too deeply. The
    event is a dead letter, and `landfast dead show` has its bytes."""


class StoreError(LandfastError):
    """A database, spool or broker failed us."""


class UnavailableError(StoreError):
    """What should make deliveries durable cannot be used now; the same call may succeed later."""


class InboxUnavailableError(UnavailableError):
    """The inbox cannot be used now. Intake takes to the spool, or answers 503; it goes on by itself."""


class JournalUnavailableError(UnavailableError):
    """The spool is full or failing, or the broker does not answer."""


class PartUnavailableError(UnavailableError):
    """A broker cannot hold a part of what came, and the inbox, which would, is away. Only that part is answered 503."""

    def __init__(self, reason: str, *, events: frozenset[EventId]) -> None:
        super().__init__(reason)
        self.events = events


class TookTooLongError(StoreError):
    """A statement of an operator's question was ended because it took too long. Narrow the filter, with `since:1h` or
    `source:`, and ask again."""


class RowRefusedError(StoreError):
    """The database refuses this row for what it holds; its neighbours may be fine."""


class SealedError(StoreError):
    """What was stored is there, and cannot be read: its key is gone, it was changed, or another master key is set."""


class MasterKeyMissingError(SealedError):
    """The master key that it was sealed under is not set in this process. Whoever has it can read it."""


class LedgerUnavailableError(StoreError):
    """The ledger cannot be used now, or Landfast's own tables in it are not as they should be. Workers stop claiming,
    no attempt is counted, and they go on by themselves."""


class TurnLostError(StoreError):
    """A retention pass was silent for too long, or another was more urgent, and has its turn. What is left to do is
    that one's, or the next one's: nothing is lost, and nothing has to be done."""


class ReceiptBusyError(StoreError):
    """Another transaction holds this receipt, uncommitted, for longer than we wait: another worker may still be at it.
    The event is given back."""


class CommitUnknownError(StoreError):
    """COMMIT was sent and no answer came: it may have happened. The next claim looks for the receipt."""


class CommitRefusedError(StoreError):
    """The server answered COMMIT with an error: it did not happen. `__cause__` says why."""


class TargetError(LandfastError):
    """A service that events are forwarded to has not taken one."""


class NoAnswerError(TargetError, ConnectionError):
    """The target of a `[[forward]]` did not answer, or could not be reached. Its events wait, and lose no attempt."""


class TargetAnsweredError(TargetError):
    """The target of a `[[forward]]` answered with something else than 2xx: 408, 409, 423, 425, 429 and 5xx are tried
    again, with the Retry-After that it asks for; any other 4xx makes the event a dead letter."""

    def __init__(self, host: str, status: int, text: str = "", *, retry_after: str | None = None) -> None:
        super().__init__(f"{host} answered {status}{f': {text[:500]}' if text else ''}")
        self.status_code = status
        self.headers = {} if retry_after is None else {"Retry-After": retry_after}


class HandlerEndedTransactionError(LandfastError):
    """The handler committed or rolled back the transaction it was given. The attempt fails; leave both to Landfast."""


class SwallowedDatabaseError(LandfastError):
    """The handler caught a database error and went on; its transaction was already lost. Put `tx.savepoint()` around
    what may fail."""


class OwnConnectionError(LandfastError):
    """The handler wrote to SQLite on a connection of its own, and was told `database is locked`. Landfast's transaction
    holds the ledger's file until the handler ends, so no attempt can succeed. Write on `tx`, or on the session that the
    handler is given: that is also what makes its writes happen once."""

    def __init__(self) -> None:
        super().__init__(
            "it wrote to SQLite on a connection of its own, which waits for Landfast's transaction, which waits for the"
            " handler (or, where that is another file, for somebody else); write on tx, or on the session it is given"
        )


class DeadlineError(LandfastError):
    """The handler or effect ran past its `deadline` and was cancelled. Its trace shows where it was."""


class UnexpectedError(LandfastError):
    """Something that Landfast did not foresee, while one event was worked on. That event's attempt fails; please report
    it."""


class LoopEndedError(LandfastError):
    """A part of a worker ended while nobody was stopping it, or did not end when the worker did. The process is
    replaced; please report it."""
