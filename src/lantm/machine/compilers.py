"""Compiles the kernels where they are used: NVRTC, which `jax[cuda]` comes with, and the machine's C++ compiler.

What is compiled is kept in a folder that nobody but the user can write to (`lantm.program_cache`), or where there is
none, in one that only this process knows: nothing is ever executed that somebody else may have put there.
"""

import atexit
import ctypes
import glob
import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
from functools import lru_cache

import jax

from lantm.errors import LantmError
from lantm.files import write_whole
from lantm.program_cache import own_folder

LAUNCH, EMULATE = "lantm_launch", "lantm_emulate"
"""The names under which XLA knows how kernels are started, on a GPU and on a CPU."""


@lru_cache
def _folder() -> pathlib.Path:
    kept = own_folder("kernels")
    if kept is not None:
        return kept
    folder = tempfile.mkdtemp(prefix="lantm-kernels-")  # readable and writable for its owner alone
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def c_compiler() -> str | None:
    """The C++ compiler of this machine."""
    chosen = os.environ.get("CXX")
    return next((found for name in (chosen, "c++", "g++", "clang++") if name and (found := shutil.which(name))), None)


@lru_cache
def find_nvrtc() -> str | None:
    """NVIDIA's compiler as a library: of JAX's packages, or of a CUDA toolkit."""
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
def missing_compiler() -> str | None:
    """Why kernels cannot be compiled here."""
    if c_compiler() is None:
        return "there is no C++ compiler: install one, such as g++"
    if find_nvrtc() is None:
        return "NVIDIA's compiler NVRTC was not found: pip install 'jax[cuda13]', or cuda12, brings it"
    try:
        _launcher()
    except (LantmError, OSError) as error:
        return str(error)
    return None


def shared_library(text: str, *options: str) -> ctypes.CDLL:
    """C++ compiled and loaded."""
    compiler = c_compiler()
    if compiler is None:
        raise LantmError("there is no C++ compiler: install one, such as g++")
    library = _folder() / f"{_digest(' '.join([compiler, *options, text]))}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(prefix="lantm-") as work:
            source, made = pathlib.Path(work, "kernel.cc"), pathlib.Path(work, "kernel.so")
            source.write_text(text)
            command = [compiler, "-std=c++17", "-shared", "-fPIC", *options, str(source), "-o", str(made)]
            ended = subprocess.run(command, capture_output=True, text=True)
            if ended.returncode:
                said = next((line for line in ended.stderr.splitlines() if "error" in line), ended.stderr.strip())
                raise LantmError(f"{compiler} could not compile: {said}")
            write_whole(library, made.read_bytes())
    return ctypes.CDLL(str(library))


@lru_cache
def _launcher() -> ctypes.CDLL:
    """The handlers that start kernels, made known to JAX."""
    source = (pathlib.Path(__file__).parent / "kernel" / "source" / "launch.cc").read_text()
    # By its version too: the headers of another JAX may differ.
    library = shared_library(source, "-O1", f"-DJAX_IS_{jax.__version_info__[1]}", f"-I{jax.ffi.include_dir()}", "-ldl")
    load, launch, emulate = (jax.ffi.pycapsule(getattr(library, name)) for name in ("lantm_load", LAUNCH, EMULATE))
    jax.ffi.register_ffi_target(LAUNCH, {"initialize": load, "execute": launch}, platform="CUDA")
    jax.ffi.register_ffi_target(EMULATE, emulate, platform="cpu")
    library.lantm_register.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    library.lantm_register_emulated.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    return library


@lru_cache
def registered(text: str, architecture: str) -> str:
    """The name under which a kernel can be started, after it was compiled for chips such as sm_90."""
    name = _digest(f"{find_nvrtc()} {architecture} {text}")
    kept = _folder() / f"{name}.cubin"
    if not kept.exists():
        write_whole(kept, compiled(text, architecture))
    image = kept.read_bytes()
    _launcher().lantm_register(name.encode(), image, len(image))
    return name


@lru_cache
def registered_emulation(text: str) -> str:
    """The name under which a kernel can be emulated."""
    name = _digest(text)
    emulator = shared_library(text, "-O1", "-fno-strict-aliasing").emulate
    _launcher().lantm_register_emulated(name.encode(), ctypes.cast(emulator, ctypes.c_void_p))
    return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def compiled(text: str, architecture: str) -> bytes:
    """The machine code of a kernel, by NVRTC, which needs no GPU."""
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
