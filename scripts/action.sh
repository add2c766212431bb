#!/usr/bin/env bash
# The step of the GitHub Action (action.yml), which a test runs, too. Compiles the model of the branch $BASE, if that is
# not empty, then the model of the work tree, and compares: with the figures of $BASE, and with $BUDGETS
# (scripts/check_budget.py). From the environment: MODEL, TARGET, OPTIONS, BUDGETS, BASE, WORK (a folder for files), and
# GitHub's GITHUB_STEP_SUMMARY and GITHUB_OUTPUT.
set -euo pipefail
check=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/check_budget.py
read -ra options <<<"$OPTIONS"
read -ra budgets <<<"$BUDGETS"
mkdir -p "$WORK"

if [ -n "$BASE" ]; then
  git fetch -q --depth 1 origin "$BASE"
  rm -rf "$WORK/base"
  git worktree prune
  git worktree add -q --detach "$WORK/base" FETCH_HEAD
  if [ -f "$WORK/base/$MODEL" ]; then
    (cd "$WORK/base" && python3 "$check" "$MODEL" -t "$TARGET" -o "$WORK/base.pte" --figures "$WORK/base.json" -- "${options[@]}" >/dev/null)
    budgets+=(--base "$WORK/base.json")
  else
    echo "carina: $BASE has no $MODEL: there is nothing to compare with"
  fi
  git worktree remove --force "$WORK/base"
fi

echo "figures=$WORK/head.json" >>"$GITHUB_OUTPUT"
python3 "$check" "$MODEL" -t "$TARGET" -o "$WORK/head.pte" --figures "$WORK/head.json" --summary "$GITHUB_STEP_SUMMARY" "${budgets[@]}" -- "${options[@]}"
