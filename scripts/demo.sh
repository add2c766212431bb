#!/usr/bin/env bash
# The main workflow on models/digits: compiles for an Ethos-U55, runs every test image on the simulated NPU, prints a
# report.
# usage: scripts/demo.sh [TARGET]      (default ethos-u55-128; build/release/bin/carina must exist: make build; or
# CARINA_BIN). Output: build/demo, or DEMO_DIR. CARINA_BUILD: another folder than build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${1:-ethos-u55-128}
carina=${CARINA_BIN:-${CARINA_BUILD:-build}/release/bin/carina}
model=models/digits
out=${DEMO_DIR:-${CARINA_BUILD:-build}/demo}
[ -x "$carina" ] || { echo "demo: $carina is missing: run 'make build' first" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$out"

step() { printf '\n== %s\n' "$1"; shift; printf '$'; printf ' %s' "$@"; printf '\n'; "$@"; }

# Writes the first test image as an .npy. The standard library is enough: an .npz is a zip of .npy files, and an .npy is
# a header with the shape, padded to 64 bytes, followed by the numbers.
first_image() {
  python3 - "$model/test.npz" "$1" <<'PYTHON'
import ast, struct, sys, zipfile
data = zipfile.ZipFile(sys.argv[1]).read("x.npy")
size = struct.unpack_from("<H", data, 8)[0]
header = ast.literal_eval(data[10:10 + size].decode())
images, numbers = header["shape"][0], data[10 + size:]
header["shape"] = (1, *header["shape"][1:])
text = repr(header).ljust(-(-(len(repr(header)) + 11) // 64) * 64 - 11) + "\n"
with open(sys.argv[2], "wb") as file:
    file.write(data[:8] + struct.pack("<H", len(text)) + text.encode() + numbers[:len(numbers) // images])
PYTHON
}

step "Where each layer runs, and what it costs" \
  "$carina" explain "$model/digits.pt2" --target "$target" --quantize int8 --calibrate "$model/calibration.npz"
step "Quantize to int8 and compile for $target" \
  "$carina" compile "$model/digits.pt2" --target "$target" --quantize int8 --calibrate "$model/calibration.npz" \
  --dump "$out/dump" -o "$out/digits.pte"
step "Accuracy of the float model, of the integer graph and of the NPU on 450 test images" \
  "$carina" accuracy "$model/digits.pt2" "$out/digits.pte" --data "$model/test.npz" --dump "$out/dump"
first_image "$out/image.npy"
step "The first image on the simulated NPU: memory, cycles, time and utilization" \
  "$carina" run "$out/digits.pte" -i "$out/image.npy" --timed

cat <<END

Next, the same for your own model (torch.export.save(torch.export.export(model, inputs), "model.pt2")):
  $carina compile model.pt2 --target $target --quantize int8 --calibrate inputs.npz -o model.pte
or look at what was made here:
  $carina disasm $out/digits.pte
END
