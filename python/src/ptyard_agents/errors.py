"""What a server refuses."""

from __future__ import annotations


class YardError(Exception):
    """A refusal of the server, or that there is none.

    Attributes:
        code: Stable code, for example ``unknown_terminal``; ``docs/ERRORS.md`` of ptyard lists all.
        hint: The next step; empty when there is none.
        retryable: Whether the same request may succeed later.
    """

    def __init__(self, code: str, message: str, *, hint: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.retryable = retryable

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message
