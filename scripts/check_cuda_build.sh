#!/usr/bin/env bash
# Compiles and links crope against the CUDA wheel of LibTorch, on a machine without a GPU: headers and libraries are taken
# out of the wheels. Nothing is installed, and the program is not started: it needs the CUDA libraries of a GPU machine.
#
#   scripts/check_cuda_build.sh                    LibTorch 2.13.0 and the newest release
#   scripts/check_cuda_build.sh 2.13.0             only this one
#
# CROPE_CUDA_CHECK=DIR   folder for wheels, headers and builds (default build/cuda; about 8 GB for each version)
# JOBS=N                 compilers at a time
#
# Needs `make setup` and a package index that has CUDA builds of torch. Prints a line for each version and exits with 1 if
# any of them failed.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly deps="${CROPE_DEPS:-$PWD/.deps}" folder="${CROPE_CUDA_CHECK:-$PWD/build/cuda}"
readonly python="$deps/venv/bin/python"
# The parts of CUDA whose headers LibTorch's headers include.
readonly parts="cublas cudart cusolver cusparse curand crt cccl nvtx nvcc"

say() { printf 'cuda: %s\n' "$*" >&2; }

[ -x "$python" ] || {
  say "no Python environment in $deps/venv"
  say "hint: run make setup first"
  exit 1
}

# download FOLDER REQUIREMENT...: each wheel without what it depends on.
download() {
  mkdir -p "$1"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$1" "${@:2}" 2>/dev/null
}

newest() {
  "$python" -m pip index versions torch 2>/dev/null | sed -n 's/^torch (\(.*\))$/\1/p'
}

# unpack WHEEL FOLDER PATTERN...: the files of a wheel that match one of the patterns.
unpack() {
  "$python" - "$@" <<'END'
import fnmatch, sys, zipfile
wheel, folder, *patterns = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            archive.extract(name, folder)
END
}

# requirements WHEEL [EXTRA...]: what a wheel depends on by a fixed version, those of its extras if any are named.
requirements() {
  "$python" - "$@" <<'END'
import re, sys, zipfile
wheel, *extras = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    metadata = archive.read(next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))).decode()
for line in re.findall(r"^Requires-Dist: (.*)$", metadata, re.M):
    requirement, _, condition = line.partition(";")
    extra = re.search(r"extra == ['\"]([\w-]+)['\"]", condition)
    if "==" in requirement and (extra.group(1) in extras if extra else not extras):
        print(re.sub(r"\[.*\]", "", requirement).replace(" ", ""))
END
}

# The headers of CUDA that belong to a wheel of torch.
fetch_headers() {
  local wheel="$1" root="$2" wanted=() toolkit
  mapfile -t wanted < <(requirements "$wheel" | grep -E '^nvidia-(nccl|cusparselt)-' || true)
  toolkit="$(requirements "$wheel" | grep '^cuda-toolkit==' || true)"
  if [ -n "$toolkit" ]; then
    download "$root/wheels" "$toolkit" || return 1
    # shellcheck disable=SC2086
    mapfile -t -O "${#wanted[@]}" wanted < <(requirements "$root"/wheels/cuda_toolkit-*.whl $parts | sort -u)
  fi
  [ "${#wanted[@]}" -gt 0 ] || return 1
  for requirement in "${wanted[@]}"; do download "$root/wheels" "$requirement" || say "no wheel of $requirement"; done
  for each in "$root"/wheels/*.whl; do
    case "$each" in */torch-*) ;; *) unpack "$each" "$root/site" '*/include/*' ;; esac
  done
}

# check VERSION: one line of result.
check() {
  local version="$1" root="$folder/$1" wheel
  download "$root/wheels" "torch===$version" || {
    say "torch $version: the package index has no such wheel"
    return 1
  }
  wheel="$(ls "$root"/wheels/torch-"$version"-*.whl)"
  unpack "$wheel" "$root/site" 'torch/include/*' 'torch/lib/lib*.so*'
  [ -e "$root/site/torch/lib/libtorch_cuda.so" ] || {
    say "torch $version: the wheel of this package index is built without CUDA"
    return 1
  }
  fetch_headers "$wheel" "$root" || say "torch $version: without CUDA's headers, so without NCCL"
  # What libtorch_cuda itself needs (cuBLAS and others) is there on a machine with a GPU only.
  cmake -S . -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DCROPE_DEPS="$deps" \
    -DTorch_ROOT="$root/site/torch" -DCROPE_WARNINGS_ARE_ERRORS=ON \
    -DCMAKE_EXE_LINKER_FLAGS="-Wl,--unresolved-symbols=ignore-in-shared-libs" >"$root/configure.log" 2>&1 &&
    cmake --build "$root/build" -j "${JOBS:-$(nproc)}" --target crope >"$root/build.log" 2>&1 || {
    say "torch $version: FAILED, see $root/configure.log and $root/build.log"
    return 1
  }
  readelf -d "$root/build/crope" | grep -q 'NEEDED.*libtorch_cuda' || {
    say "torch $version: FAILED, the program does not load libtorch_cuda"
    return 1
  }
  printf 'torch %s: compiled and linked with CUDA; NCCL: %s\n' "$version" \
    "$(grep -q 'CROPE_HAS_NCCL:.*=ON' "$root/build/CMakeCache.txt" && echo on || echo off)"
}

versions=("$@")
if [ "${#versions[@]}" -eq 0 ]; then versions=(2.13.0 "$(newest)"); fi
failed=0
for version in "${versions[@]}"; do check "$version" || failed=1; done
exit "$failed"
