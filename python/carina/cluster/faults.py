"""Items for which a worker returned no line get another attempt, or become failed rows with the reason."""

from dataclasses import dataclass, field

RETRIES = 3
# Another attempt would have the same result.
_FINAL = ("answer",)


class ClusterError(Exception):
    """The command cannot continue. The message is one line; `code` is the exit code of the command."""

    def __init__(self, message: str, hint: str = "", code: int = 1) -> None:
        super().__init__(message)
        self.hint, self.code = hint, code


@dataclass(frozen=True)
class Fault:
    """The reason why an item has no line."""

    kind: str  # rejected, signal, timeout, machine, output, answer, stopped, worker
    text: str
    worker: str
    host: str

    def __str__(self) -> str:
        where = f" on {self.worker} ({self.host})" if self.host else f" on {self.worker}" if self.worker else ""
        return self.text if self.kind in _FINAL else f"{self.text}{where}"


@dataclass
class Attempts:
    """Number of failed attempts of each item."""

    counts: dict[int, int] = field(default_factory=dict)
    last: dict[int, Fault] = field(default_factory=dict)

    def failed(self, item: int, fault: Fault) -> bool:
        """Records a fault. Returns whether the item gets no more attempts."""
        self.counts[item] = self.counts.get(item, 0) + 1
        self.last[item] = fault
        return fault.kind in _FINAL or self.counts[item] > RETRIES

    def is_last(self, item: int) -> bool:
        return self.counts.get(item, 0) == RETRIES

    def reason(self, item: int) -> str:
        fault = self.last[item]
        if fault.kind in _FINAL:
            return str(fault)
        return f"failed after {self.counts[item]} attempts: {fault}"
