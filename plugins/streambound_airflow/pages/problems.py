"""What is answered when a request cannot be served: one shape, with what was found and what is accepted."""

from __future__ import annotations

from typing import Any

from airflow.sdk.exceptions import AirflowException
from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from streambound.errors import StreamboundError

CODE_OF_STATUS = {
    400: "bad-request",
    401: "not-signed-in",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    408: "too-slow",
    413: "too-large",
    422: "invalid-request",
    500: "internal-error",
    503: "unavailable",
}
# What a message quotes of a request, in characters.
QUOTED = 80


class Problem(BaseModel):
    """Why a request was not served."""

    status: int = Field(description="The HTTP status.")
    code: str = Field(description="A word for the kind of problem.")
    message: str = Field(description="What was found.")
    accepted: str | None = Field(None, description="What would have been accepted.")
    fix: str | None = Field(None, description="One thing to do.")


class ProblemBody(BaseModel):
    """Every answer that is not a success."""

    error: Problem


class Refused(HTTPException):
    """A request that is not served, with its problem."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        accepted: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(status, message)
        code = code or CODE_OF_STATUS.get(status, "problem")
        self.problem = Problem(status=status, code=code, message=message, accepted=accepted, fix=fix)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with, for the OpenAPI document."""
    return {status: {"model": ProblemBody, "description": CODE_OF_STATUS[status]} for status in statuses}


def problem_of(error: Exception) -> Problem:
    """What is told of an error; what nobody expected is told without its inside."""
    if isinstance(error, Refused):
        return error.problem
    if isinstance(error, StreamboundError):
        # Exit codes from 3 on speak of an outside cause: disk, database, cluster.
        status = 503 if error.exit_code >= 3 else 422
        where = ": ".join(str(part) for part in (error.subject, error.location) if part)
        message = f"{where}: {error.message}" if where else error.message
        return Problem(
            status=status, code=error.code, message=message, accepted=error.accepted, fix=error.fix
        )
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, StarletteHTTPException):
        code = CODE_OF_STATUS.get(error.status_code, "problem")
        return Problem(
            status=error.status_code, code=code, message=str(error.detail), accepted=None, fix=None
        )
    if isinstance(error, AirflowException):
        return Problem(status=503, code=CODE_OF_STATUS[503], message=str(error), accepted=None, fix=None)
    return Problem(
        status=500,
        code="internal-error",
        message="something went wrong that nobody expected",
        accepted=None,
        fix="see the log of Airflow's API server",
    )


def _invalid(error: RequestValidationError) -> Problem:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    value = repr(first.get("input"))
    value = value if len(value) <= QUOTED else f"{value[:QUOTED]}..."
    return Problem(
        status=422,
        code=CODE_OF_STATUS[422],
        message=f"{field}: {first['msg']}; found {value}",
        accepted="see api/v1/openapi.json",
        fix=None,
    )
