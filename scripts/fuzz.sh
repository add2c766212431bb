#!/usr/bin/env bash
# Builds the fuzz targets (build/fuzz/bin/fuzz_*) and runs each for some seconds.
# usage: scripts/fuzz.sh [SECONDS_PER_TARGET] [TARGET...]
#
# Seeds: fuzz/corpus/<target>/ (read only). What the runs learn: build/fuzz/corpus/<target>/. Findings: build/fuzz/findings/.
# One line per target, "fuzz: pass NAME" or "fuzz: FAIL NAME"; exit code 1 when any failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-10}
shift || true
cmake --preset fuzz >build/fuzz-configure.log 2>&1 || { cat build/fuzz-configure.log >&2; exit 1; }
cmake --build --preset fuzz -j "${JOBS:-2}"

if [ $# -gt 0 ]; then targets=("${@/#/build/fuzz/bin/}"); else shopt -s nullglob; targets=(build/fuzz/bin/fuzz_*); fi
[ ${#targets[@]} -gt 0 ] || { echo "fuzz: FAIL no fuzz targets were built"; exit 1; }

mkdir -p build/fuzz/findings
failed=0
for target in "${targets[@]}"; do
  name=$(basename "$target")
  corpus=build/fuzz/corpus/$name
  mkdir -p "$corpus"
  seeds=()
  [ -d "fuzz/corpus/$name" ] && seeds=("fuzz/corpus/$name")
  log=build/fuzz/$name.log
  if "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="build/fuzz/findings/$name-" \
      "$corpus" "${seeds[@]}" >"$log" 2>&1; then
    echo "fuzz: pass $name ($(grep -c . <(ls "$corpus")) inputs kept)"
  else
    failed=1
    tail -n 40 "$log" >&2
    echo "fuzz: FAIL $name (log $log, input in build/fuzz/findings)"
  fi
done
exit $failed
