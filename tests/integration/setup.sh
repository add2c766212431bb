#!/usr/bin/env bash
# The integration tests' environment: torch, torchao, executorch, Vela, the TOSA reference model, pytest.
#
#   tests/integration/setup.sh [main|explorer|torch|arm|all] [--fresh]
#
# main      build/test-env/main      (default; about 1.6 GB)
# explorer  build/test-env/explorer  (optional: Model Explorer with its TOSA adapter, MLIA, linters of packages,
#                                   Jupyter; about 0.9 GB)
# torch     build/test-env/torch     (optional: the newest torch, for what it exports; about 1.4 GB)
# arm       build/test-env/arm       (optional: torchvision, transformers ... on top of main, for the models of the Arm
#                                   backend's tests; about 0.4 GB; not part of all)
# --fresh   start from an empty environment
#
# Does nothing, and needs no network, when the environment already matches the requirement files.
# PYTHON=...         the interpreter to use (CPython 3.10 to 3.12 with venv)
# CARINA_TEST_ENV=DIR  another place than build/test-env
# Pip's own settings apply (PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS): an index of CPU builds of
# torch makes the download smaller. With a CUDA build, CUDA's own packages are left out (cpu_torch.py).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
envs=$(realpath -m "${CARINA_TEST_ENV:-$root/build/test-env}") # several work trees may share one through a link

die() { echo "test-env: $*" >&2; exit 1; }
say() { echo "test-env: $*"; }

usable_python() {
  "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' >/dev/null 2>&1
}

find_python() {
  local candidate
  if [ -n "${PYTHON:-}" ]; then
    usable_python "$PYTHON" || die "PYTHON=$PYTHON is not a CPython 3.10 to 3.12 with the venv module"
    echo "$PYTHON"; return
  fi
  for candidate in python3 /usr/bin/python3 python3.11 python3.12 python3.10; do
    usable_python "$candidate" && { echo "$candidate"; return; }
  done
  die "no CPython 3.10 to 3.12 with the venv module found (Debian: python3-venv); set PYTHON=..."
}

log=
quietly() {
  "$@" >>"$log" 2>&1 && return
  echo "test-env: failed: $*" >&2
  echo "test-env: the end of $log:" >&2
  grep -v '^WARNING: Location' "$log" | tail -n 25 >&2
  exit 1
}

# The environment in $1 is sound and was made here from these files?
stamp_of() { (cd "$here" && cat "$@" setup.sh cpu_torch.py; echo "$envs"; "$python" -V) | sha256sum | cut -c1-16; }

make_venv() {
  local env=$1 fresh=$2
  mkdir -p "$envs"
  log=$envs/setup-$(basename "$env").log
  : >"$log"
  # Scripts in a venv carry absolute paths: a moved one is made anew.
  if [ "$fresh" = no ] && [ "$(cat "$env/.place" 2>/dev/null)" = "$env $("$python" -V)" ] && "$env/bin/python" -m pip -V >/dev/null 2>&1; then
    return
  fi
  say "new environment $(realpath --relative-to="$PWD" "$env" 2>/dev/null || echo "$env") with $("$python" -V)"
  quietly "$python" -m venv --clear "$env"
  echo "$env $("$python" -V)" >"$env/.place"
}

# Modules are compiled when they are first imported: few are, and compiling all takes as long as the rest.
pip_install() { quietly "$env/bin/python" -m pip install --no-input --no-compile --disable-pip-version-check "$@"; }

# install_torch FILE: the torch that the requirement file FILE names.
install_torch() {
  local build
  quietly "$env/bin/python" -m pip install --no-input --disable-pip-version-check --quiet \
    --dry-run --no-deps --ignore-installed --report "$env/torch.json" -r "$here/$1"
  build=$("$env/bin/python" - "$env/torch.json" <<'PY'
import json, re, sys
needs = json.load(open(sys.argv[1]))["install"][0]["metadata"].get("requires_dist", [])
needs = [n for n in needs if "extra ==" not in n]
cuda = [n for n in needs if re.match(r"(nvidia-|cuda-|triton)", n)]
print("cuda" if cuda else "cpu")
print("\n".join(n.split(";")[0].strip() for n in needs if n not in cuda))
PY
)
  say "torch (${build%%$'\n'*} build)"
  case $build in
    cpu*) pip_install -r "$here/$1" ;;
    cuda*)
      pip_install --no-deps -r "$here/$1"
      tail -n +2 <<<"$build" >"$env/torch-needs.txt"
      pip_install -r "$env/torch-needs.txt"
      quietly "$env/bin/python" "$here/cpu_torch.py" ;;
  esac
}

setup_main() {
  local env=$envs/main stamp
  stamp=$(stamp_of requirements-torch.txt requirements-main.txt requirements-main-nodeps.txt)
  if [ "$fresh" = no ] && [ "$(cat "$env/.stamp" 2>/dev/null)" = "$stamp" ]; then say "main is ready"; return; fi
  make_venv "$env" "$fresh"
  rm -f "$env/.stamp"
  install_torch requirements-torch.txt
  say "torchao, Vela, TOSA reference model, pytest"
  pip_install -r "$here/requirements-main.txt"
  say "executorch, VGF library and model-converter, SPIRV-Tools"
  pip_install --no-deps -r "$here/requirements-main-nodeps.txt"
  say "checking that all of them import together"
  quietly "$env/bin/python" - <<'PY'
import torch, torchao, numpy, sklearn, pytest, xdist
import tosa_reference_model, tosa_serializer
import model_converter, scenario_runner, vgfpy
import ethosu.vela.vela
from executorch.exir._serialize._program import deserialize_pte_binary
import executorch.kernels.quantized
from executorch.runtime import Runtime
from executorch.backends.arm.quantizer import EthosUQuantizer
from executorch.backends.arm.ethosu import EthosUPartitioner
assert Runtime.get().operator_registry.operator_names
assert torch.nn.Conv2d(1, 2, 3)(torch.ones(1, 1, 4, 4)).shape == (1, 2, 2, 2)
PY
  "$env/bin/python" -m pip freeze >"$env/installed.txt" 2>/dev/null
  echo "$stamp" >"$env/.stamp"
  say "main is ready"
}

setup_explorer() {
  local env=$envs/explorer stamp
  stamp=$(stamp_of requirements-explorer.txt)
  if [ "$fresh" = no ] && [ "$(cat "$env/.stamp" 2>/dev/null)" = "$stamp" ]; then say "explorer is ready"; return; fi
  make_venv "$env" "$fresh"
  rm -f "$env/.stamp"
  say "Model Explorer with its TOSA adapter, MLIA, linters of packages, Jupyter"
  pip_install -r "$here/requirements-explorer.txt"
  quietly "$env/bin/python" -c 'import tosa_adapter_model_explorer, mlia.api'
  echo "$stamp" >"$env/.stamp"
  say "explorer is ready"
}

setup_torch() {
  local env=$envs/torch stamp
  stamp=$(stamp_of requirements-newest-torch.txt requirements-newest-torch-with.txt)
  if [ "$fresh" = no ] && [ "$(cat "$env/.stamp" 2>/dev/null)" = "$stamp" ]; then say "torch is ready"; return; fi
  make_venv "$env" "$fresh"
  rm -f "$env/.stamp"
  install_torch requirements-newest-torch.txt
  pip_install -r "$here/requirements-newest-torch-with.txt"
  quietly "$env/bin/python" -c 'import torch, torchao, numpy; torch.nn.Linear(1, 1)(torch.ones(1))'
  echo "$stamp" >"$env/.stamp"
  say "torch is ready"
}

setup_arm() {
  local env=$envs/arm stamp site
  setup_main
  stamp=$(stamp_of requirements-torch.txt requirements-main.txt requirements-arm.txt requirements-arm-nodeps.txt)
  if [ "$fresh" = no ] && [ "$(cat "$env/.stamp" 2>/dev/null)" = "$stamp" ]; then say "arm is ready"; return; fi
  make_venv "$env" "$fresh"
  rm -f "$env/.stamp"
  site=$("$env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "$envs/main/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/main.pth"
  say "torchvision, torchaudio, timm, transformers, diffusers"
  pip_install -r "$here/requirements-arm.txt"
  pip_install --no-deps -r "$here/requirements-arm-nodeps.txt"
  rm -f "$site"/torchaudio/lib/*.so # built with CUDA, which is not here; the models are Python
  say "checking that all of them import together"
  (cd "$here/arm" && quietly "$env/bin/python" -W ignore - <<'PY'
import offline
offline.no_downloads()
import timm, torchaudio.models, torchvision.models
import diffusers.models.transformers
import transformers.models.qwen3_vl.modeling_qwen3_vl
from ng_model_gym.usecases.nss.model import model_blocks
PY
  )
  "$env/bin/python" -m pip freeze >"$env/installed.txt" 2>/dev/null
  echo "$stamp" >"$env/.stamp"
  say "arm is ready"
}

which=main fresh=no
for argument in "$@"; do
  case $argument in
    main|explorer|torch|arm|all) which=$argument ;;
    --fresh) fresh=yes ;;
    -h|--help) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p'; exit 0 ;;
    *) die "unknown argument '$argument' (main, explorer, torch, arm, all, --fresh)" ;;
  esac
done

python=$(find_python)
mkdir -p "$envs"
exec 9>"$envs/.lock"
flock 9
case $which in
  main) setup_main ;;
  explorer) setup_explorer ;;
  torch) setup_torch ;;
  arm) setup_arm ;;
  all) setup_main; setup_explorer; setup_torch ;;
esac
