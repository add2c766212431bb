#!/usr/bin/env bash
# The main job, end to end, on models/digits: compile for an Ethos-U55, run every test image on the simulated NPU, report.
# usage: scripts/demo.sh [TARGET]      (default ethos-u55-128; build/release/bin/carina must exist: make build)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${1:-ethos-u55-128}
carina=build/release/bin/carina
model=models/digits
out=build/demo
[ -x "$carina" ] || { echo "demo: $carina is missing: run 'make build' first" >&2; exit 1; }
mkdir -p "$out"

step() { printf '\n== %s\n' "$1"; shift; printf '$'; printf ' %s' "$@"; printf '\n'; "$@"; }

step "Where each layer runs, and what it costs" \
  "$carina" explain "$model/digits.pt2" --target "$target"
step "Quantize to int8 and compile for $target" \
  "$carina" compile "$model/digits.pt2" --target "$target" --quantize int8 --calibrate "$model/calibration.npz" \
  --report "$out/digits.html" -o "$out/digits.pte"
step "Accuracy of the float model, of the integer graph and of the NPU on 450 test images" \
  "$carina" accuracy "$model/digits.pt2" "$out/digits.pte" --data "$model/test.npz"
step "One image on the simulated NPU: memory, cycles, time and utilisation" \
  "$carina" run "$out/digits.pte" --timed

cat <<END

Next, the same for your own model (torch.export.save(torch.export.export(model, inputs), "model.pt2")):
  $carina compile model.pt2 --target $target --quantize int8 --calibrate inputs.npz -o model.pte
or look at what was made here:
  $carina inspect $out/digits.pte
END
