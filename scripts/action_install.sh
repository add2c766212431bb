#!/usr/bin/env bash
# Installs Carina for the GitHub Action (action.yml), from where the action itself comes: the wheel of its release, else
# its checkout, which takes a compiler and some minutes. Never a name of a package index. From the environment: ACTION
# (the action's checkout), REPOSITORY and REF (OWNER/carina and the tag that the workflow names), WORK, and GH_TOKEN.
set -euo pipefail

if command -v carina >/dev/null; then
  echo "carina: $(carina --version | head -n 1) is in PATH"
  exit 0
fi

wheels=$WORK/wheels
mkdir -p "$wheels"
if [ -n "${REPOSITORY:-}" ] && [ -n "${REF:-}" ] && command -v gh >/dev/null &&
   gh release download "$REF" --repo "$REPOSITORY" --pattern 'carina-*.whl' --dir "$wheels" --clobber; then
  echo "carina: the wheel of release $REF of $REPOSITORY"
  python3 -m pip install numpy
  python3 -m pip install --no-deps --no-index --find-links "$wheels" carina
else
  echo "carina: no release $REF of ${REPOSITORY:-this action}: building its checkout"
  "$ACTION/scripts/setup.sh"
  python3 -m pip install "$ACTION"
fi
