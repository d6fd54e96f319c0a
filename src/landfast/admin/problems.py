"""What went wrong, as a machine and a person read it: `application/problem+json` (RFC 9457). A question that failed is
always one of these, and never an empty list."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from landfast import telemetry
from landfast.domain.errors import FilterError, LandfastError, StoreError, TookTooLongError, UserError

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    status: int
    title: str
    detail: str
    """One sentence that names the field and the fix."""
    position: int | None = None
    """Of the character of a filter that cannot be read, the first one being 0."""
    length: int | None = None
    """Of what stands there."""


class AdminError(Exception):
    """An answer of the admin API that refuses something, raised where it is found. It never leaves the API, and so is
    none of the errors that users of Landfast meet."""

    status, title = 400, "Bad request"

    def headers(self) -> dict[str, str]:
        return {}


class NothingThereError(AdminError):
    """What was named is not there."""

    status, title = 404, "Not found"


def problem_of(error: Exception) -> Problem:
    match error:
        case AdminError():
            return Problem(status=error.status, title=error.title, detail=str(error))
        case msgspec.MsgspecError():
            return Problem(status=400, title="Bad request", detail=str(error))
        case FilterError(position=position, length=length):
            return Problem(status=400, title="Bad filter", detail=str(error), position=position, length=length)
        case UserError():
            return Problem(status=400, title="Bad request", detail=str(error))
        case TookTooLongError():
            return Problem(status=504, title="It took too long", detail=str(error))
        case StoreError():
            return Problem(status=503, title="The question failed", detail=str(error))
        case LandfastError():
            return Problem(status=409, title="Not possible now", detail=str(error))
    telemetry.error("admin_question_failed", error=error)
    return Problem(status=500, title="Something that Landfast did not foresee", detail=type(error).__name__)


def answer_of(error: Exception) -> Response:
    problem = problem_of(error)
    headers = error.headers() if isinstance(error, AdminError) else {}
    return Response(msgspec.json.encode(problem), problem.status, headers, MEDIA_TYPE)
