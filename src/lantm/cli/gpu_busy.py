"""Measures GPU utilisation with `nvidia-smi`, once a second."""

import contextlib
import os
import subprocess
import threading

_COMMAND = ("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--loop=1")


class GpuBusy:
    """Samples GPU utilisation while entered; without an NVIDIA GPU there are no samples."""

    def __init__(self, command: tuple[str, ...] = _COMMAND):
        """`command` prints a percentage per GPU repeatedly; restricted to the GPUs that this process sees."""
        seen = os.environ.get("CUDA_VISIBLE_DEVICES")
        self._command = (*command, f"--id={seen}") if seen else command
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._sum, self.samples = 0.0, 0

    @property
    def percent(self) -> float | None:
        """The mean of all samples so far."""
        return round(self._sum / self.samples, 1) if self.samples else None

    def __enter__(self) -> "GpuBusy":
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True
            )
            self._thread.start()
        return self

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError):  # "[N/A]"
                self._sum += float(line)
                self.samples += 1

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._thread.join()
            assert self._process.stdout is not None
            self._process.stdout.close()
