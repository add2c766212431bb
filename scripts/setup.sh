#!/usr/bin/env bash
# Installs the Debian packages for building Carina. Asks no questions, and uses sudo only if not run as root.
# Does nothing, and needs no network, if all of them are installed.
#
#   scripts/setup.sh          packages for `make demo` and `make check`
#   scripts/setup.sh --full   also for `make test`, `fuzz`, `tidy` and `format`: clang with its tools and linker,
#                             Valgrind, the compiler and the emulator for Cortex-M, a browser
#   scripts/setup.sh --aarch64  packages for `make wheel-aarch64`
#   scripts/setup.sh --release  packages for scripts/release.sh and the tests of its files
#
# It also accepts the options of the Arm backend's setup.sh: docs/guide/script-options.md.
set -euo pipefail

build=(
  g++ cmake ninja-build pkg-config python3
  libflatbuffers-dev flatbuffers-compiler nlohmann-json3-dev libminizip-dev zlib1g-dev libdeflate-dev libfmt-dev libcli11-dev libinih-dev
  libhwy-dev libtbb-dev libvulkan-dev libpng-dev libjpeg-dev libjs-vega libgtest-dev libgmock-dev libbenchmark-dev
)
full=(
  python3-venv python3-dev python3-numpy clang-19 lld-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev
  valgrind mesa-vulkan-drivers libvulkan1 chromium
  gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm
)

cross=(g++-aarch64-linux-gnu qemu-user)
release=(
  "${cross[@]}" python3-venv debhelper gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib
  mmdebstrap lintian
)

# Options of the Arm backend's setup.sh: name|HAS, NONE or REJECTED|effect, or why there is none
# (docs/guide/script-options.md).
arm_options=(
  '--i-agree-to-the-contained-eula|NONE|nothing that is installed asks for an agreement'
  '--root-dir|REJECTED|packages are installed by Debian, not into a folder'
  '--enable-baremetal-toolchain|HAS|as `--full`: the compiler and the emulator for Cortex-M'
  '--target-toolchain|HAS|`gnu`: as `--full`; `zephyr` and `linux-musl` are rejected'
  '--enable-fvps|NONE|the simulator and QEMU take the place of the FVPs'
  '--enable-vela|NONE|Carina compiles itself; Vela is only a reference of the tests (`make test-env`)'
  '--enable-model-converter|NONE|Carina writes VGF itself'
  '--enable-vgf-lib|NONE|Carina reads VGF itself'
  '--enable-emulation-layer|HAS|as `--full`: a Vulkan driver; the layers are the package ai-ml-emulation-layer-for-vulkan of PyPI'
  '--enable-vulkan-sdk|HAS|as `--full`: the Vulkan loader and Mesa'
  '--enable-mlsdk-deps|HAS|as `--enable-vulkan-sdk`'
  '--disable-ethos-u-deps|NONE|the NPU needs no packages of its own'
  '--install-mlsdk-deps-with-pip|NONE|as there, it is the only way'
  '--install-mlsdk-deps-from-src|REJECTED|install ai-ml-emulation-layer-for-vulkan with pip'
  '--mlsdk-manifest-url|REJECTED|it belongs to builds from sources'
  '--mlsdk-manifest-tag|REJECTED|it belongs to builds from sources'
  '--setup-test-dependency|NONE|`make test-env` installs what the tests compare with'
)

# Handles one of these options. Returns an error for any other name. The script accepts --NAME VALUE and --NAME=VALUE.
arm_option() {
  local row name effect why
  for row in "${arm_options[@]}"; do
    IFS='|' read -r name effect why <<<"$row"
    [ "$name" = "${1%%=*}" ] || continue
    case $effect in
      REJECTED) echo "setup: $name: not supported: $why" >&2; exit 2 ;;
      NONE) echo "setup: note: $name makes no difference: $why" ;;
      HAS) wanted+=("${full[@]}") ;;
    esac
    return 0
  done
  return 1
}

wanted=("${build[@]}")
while [ $# -gt 0 ]; do
  case $1 in
    --aarch64) wanted+=("${cross[@]}") ;;
    --release) wanted+=("${release[@]}") ;;
    --full) wanted+=("${full[@]}") ;;
    -h|--help) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p'; exit 0 ;;
    --target-toolchain|--target-toolchain=*)
      if [ "$1" = --target-toolchain ]; then shift; chosen=${1:-}; else chosen=${1#*=}; fi
      [ "$chosen" = gnu ] || { echo "setup: --target-toolchain: expected gnu, got '$chosen'" >&2; exit 2; }
      arm_option --target-toolchain ;;
    *) arm_option "$1" || { echo "setup: unknown argument '$1' (--full, --aarch64, --release)" >&2; exit 2; } ;;
  esac
  shift
done

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
