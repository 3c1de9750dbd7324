"""Compiles kernel sources at run time: C++ with the system's compiler, CUDA with NVRTC (part of `jax[cuda]`).

Results are cached in a folder that only the user can write to (`lantm.program_cache`), or else in a temporary folder of
this process, so no code placed there by others is executed.
"""

import atexit
import ctypes
import glob
import hashlib
import importlib.util
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from functools import lru_cache

import jax

from lantm.errors import LantmError
from lantm.files import write_whole
from lantm.program_cache import own_folder

LAUNCH, RUN_ON_CPU, EMULATE = "lantm_launch", "lantm_run_on_cpu", "lantm_emulate"
"""The XLA custom call targets that start kernels: on a GPU, on a CPU, and emulated on a CPU."""
_LAUNCHER_LOCK = threading.Lock()
_LIBRARY_LOCKS: dict[str, threading.Lock] = {}
# With this processor's vector instructions; the formulas use neither errno nor floating point traps.
_NATIVE = "-march=native" if platform.machine() in ("x86_64", "AMD64") else "-mcpu=native"
_FAST = ("-O3", "-fopenmp-simd", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", _NATIVE)


@lru_cache
def _folder() -> pathlib.Path:
    kept = own_folder("kernels")
    if kept is not None:
        return kept
    folder = tempfile.mkdtemp(prefix="lantm-kernels-")  # accessible only by its owner
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def c_compiler() -> str | None:
    """The command of the C++ compiler: the environment variable CXX if set (none if it is empty), otherwise the
    usual."""
    chosen = os.environ.get("CXX")
    names = ("c++", "g++", "clang++") if chosen is None else (chosen,)
    return next((name for name in names if name.strip() and shutil.which(shlex.split(name)[0])), None)


@lru_cache
def find_nvrtc() -> str | None:
    """The path of the NVRTC library, from JAX's packages or a CUDA toolkit."""
    places = []
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or [] if spec else []:
        places += sorted(glob.glob(f"{root}/*/lib/libnvrtc.so.1*"))
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    places += sorted(glob.glob(f"{toolkit}/lib64/libnvrtc.so.1*"))
    for place in (*places, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"):
        if ".alt." in place:
            continue
        try:
            ctypes.CDLL(place)
        except OSError:
            continue
        return place
    return None


@lru_cache
def no_c_compiler() -> str | None:
    """Why kernels cannot be compiled for a CPU here, if so."""
    try:
        shared_library("", *_FAST)  # not every compiler supports these options on every processor
        _launcher()
    except (LantmError, OSError) as error:
        return str(error)
    return None


@lru_cache
def missing_compiler() -> str | None:
    """Why kernels cannot be compiled for a GPU here, if so."""
    if c_compiler() is not None and find_nvrtc() is None:
        return "NVIDIA's compiler NVRTC was not found: pip install 'jax[cuda13]', or cuda12, brings it"
    return no_c_compiler()


def shared_library(text: str, *options: str) -> ctypes.CDLL:
    """Compiles C++ and loads it."""
    compiler = c_compiler()
    if compiler is None:
        raise LantmError("there is no C++ compiler: install one, such as g++")
    options = (*options, *shlex.split(os.environ.get("CXXFLAGS", "")))
    library = _folder() / f"{_digest(' '.join([compiler, *options, text]))}.so"
    with _LIBRARY_LOCKS.setdefault(library.name, threading.Lock()):  # each library is compiled by one thread only
        if not library.exists():
            write_whole(library, _compiled_by(compiler, options, text))
        return ctypes.CDLL(str(library))


def _compiled_by(compiler: str, options: Sequence[str], text: str) -> bytes:
    """Compiles C++ to a shared library."""
    with tempfile.TemporaryDirectory(prefix="lantm-") as work:
        source, made = pathlib.Path(work, "kernel.cc"), pathlib.Path(work, "kernel.so")
        source.write_text(text)
        command = [*shlex.split(compiler), "-std=c++17", "-shared", "-fPIC", *options, str(source), "-o", str(made)]
        # In a process group of its own: Ctrl-C in a terminal is for this process, not for the compiler.
        ended = subprocess.run(command, capture_output=True, text=True, process_group=0)
        if ended.returncode or not made.exists():
            said = next((line for line in ended.stderr.splitlines() if "error" in line), ended.stderr.strip())
            remedy = "name another compiler in the environment variable CXX, or none: CXX="
            raise LantmError(f"{compiler} could not compile: {said or 'it does not say why'}; {remedy}")
        return made.read_bytes()


def _launcher() -> ctypes.CDLL:
    """The library of XLA handlers that start kernels, registered with JAX."""
    with _LAUNCHER_LOCK:
        return _launcher_once()


@lru_cache
def _launcher_once() -> ctypes.CDLL:
    source = (pathlib.Path(__file__).parent / "kernel" / "source" / "launch.cc").read_text()
    # The JAX version is part of the options, since its headers may differ.
    library = shared_library(source, "-O0", f"-DJAX_IS_{jax.__version_info__[1]}", f"-I{jax.ffi.include_dir()}", "-ldl")
    load, launch = (jax.ffi.pycapsule(getattr(library, name)) for name in ("lantm_load", LAUNCH))
    jax.ffi.register_ffi_target(LAUNCH, {"initialize": load, "execute": launch}, platform="CUDA")
    for name in (RUN_ON_CPU, EMULATE):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    library.lantm_register.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    for register in (library.lantm_register_on_cpu, library.lantm_register_emulated):
        register.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    return library


@lru_cache
def registered(text: str, architecture: str) -> str:
    """Compiles a kernel for a GPU architecture such as sm_90, and returns the name by which it is called."""
    name = _digest(f"{find_nvrtc()} {architecture} {text}")
    kept = _folder() / f"{name}.cubin"
    if not kept.exists():
        write_whole(kept, compiled(text, architecture))
    image = kept.read_bytes()
    _launcher().lantm_register(name.encode(), image, len(image))
    return name


@lru_cache
def registered_on_cpu(text: str) -> str:
    """Compiles a kernel for the CPU, and returns the name by which it is called."""
    name = _digest(text)
    library = shared_library(text, *_FAST)
    _launcher().lantm_register_on_cpu(name.encode(), ctypes.cast(library.run_piece, ctypes.c_void_p))
    return name


@lru_cache
def registered_emulation(text: str) -> str:
    """Compiles a kernel for emulation, and returns the name by which it is called."""
    name = _digest(text)
    emulator = shared_library(text, "-O1", "-fno-strict-aliasing").emulate
    _launcher().lantm_register_emulated(name.encode(), ctypes.cast(emulator, ctypes.c_void_p))
    return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def compiled(text: str, architecture: str) -> bytes:
    """The machine code of a kernel, compiled by NVRTC, which needs no GPU."""
    nvrtc = ctypes.CDLL(find_nvrtc())
    program = ctypes.c_void_p()

    def check(status: int, what: str) -> None:
        if status:
            raise LantmError(f"NVRTC failed at {what} (error {status}){_log(nvrtc, program)}")

    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None), "the start")
    options = [f"--gpu-architecture={architecture}".encode(), b"--std=c++17", b"--extra-device-vectorization"]
    check(nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)), "compiling")
    size = ctypes.c_size_t()
    check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "its result")
    image = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetCUBIN(program, image), "its result")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return image.raw


def _log(nvrtc: ctypes.CDLL, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    if not program or nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)):
        return ""
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    lines = [line for line in log.value.decode(errors="replace").splitlines() if "error" in line]
    return f": {lines[0]}" if lines else ""
