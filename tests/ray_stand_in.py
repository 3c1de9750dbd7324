"""One that plays Ray's part, for tests of what becomes of jobs there."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    pass


class Actor:
    """Ray's part: runs a task when it is asked for the result, or lets its worker die."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, fails: bool = False, cores: int = 2, joins: Exception | None = None):
        self.fails, self.cores, self.joins = fails, cores, joins
        self.options: dict[str, Any] = {}
        self.down = False

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: Any) -> None:
        self.options |= options
        if self.joins:
            raise self.joins

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.cores, "GPU": 0}

    def remote(self, function: Callable[..., Any]) -> Any:
        def take(**options: Any) -> Any:
            self.options |= options
            return SimpleNamespace(remote=lambda *arguments: (function, arguments))

        return SimpleNamespace(options=take)

    def wait(self, tasks: list[Any], **options: Any) -> tuple[list[Any], list[Any]]:
        return tasks[:1], tasks[1:]

    def get(self, task: Any) -> Any:
        if self.fails:
            raise RayError("The worker died unexpectedly.\nMany lines follow.")
        function, arguments = task
        return function(*arguments)

    def shutdown(self) -> None:
        self.down = True
