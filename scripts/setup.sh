#!/usr/bin/env bash
# Installs the Debian packages that Carina builds with. Asks nothing; uses sudo only when not root.
# Does nothing, and needs no network, when they are all there.
#
#   scripts/setup.sh          what `make demo` and `make check` need
#   scripts/setup.sh --full   also clang, its tools and linker, the compiler and the emulator for Cortex-M, a browser, which `make test`, `fuzz`, `tidy`
#                             and `format` use
#   scripts/setup.sh --aarch64  what `make wheel-aarch64` compiles and runs with
set -euo pipefail

build=(
  g++ cmake ninja-build pkg-config python3
  libflatbuffers-dev flatbuffers-compiler nlohmann-json3-dev libminizip-dev zlib1g-dev libdeflate-dev libfmt-dev libcli11-dev libinih-dev
  libhwy-dev libtbb-dev libvulkan-dev libpng-dev libjpeg-dev libjs-vega libgtest-dev libgmock-dev libbenchmark-dev
)
full=(
  python3-venv python3-dev python3-numpy clang-19 lld-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev
  mesa-vulkan-drivers libvulkan1 chromium
  gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm
)

cross=(g++-aarch64-linux-gnu qemu-user)

wanted=("${build[@]}")
case ${1:-} in
  "") ;;
  --aarch64) wanted+=("${cross[@]}") ;;
  --full) wanted+=("${full[@]}") ;;
  -h|--help) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p'; exit 0 ;;
  *) echo "setup: unknown argument '$1' (--full, --aarch64)" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: not a Debian system. Install what these packages hold, then run cmake yourself: ${wanted[*]}" >&2
  exit 1
fi

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: not root, and no sudo. As root: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null >"$log" 2>&1; }
fail() { tail -n 20 "$log" >&2; echo "setup: $*" >&2; exit 1; }
apt update || fail "apt-get update failed"
apt install -y --no-install-recommends "${missing[@]}" || fail "apt-get install failed"
echo "setup: done"
