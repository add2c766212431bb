#!/usr/bin/env bash
# Unpacks Debian packages for another architecture, with all that they depend on, into a separate folder. The system
# does not change.
#
#   scripts/sysroot.sh ARCHITECTURE DIR [SUITE PACKAGE...]
#
# By default, the libraries that Carina links and a Python, from the system's suite: arm64 build/aarch64/sysroot. Does
# nothing if the folder has these packages. Needs apt-get, dpkg-deb, and Debian's packages.
set -euo pipefail

usage="usage: sysroot.sh ARCHITECTURE DIR [SUITE PACKAGE...]"
architecture=${1:?$usage} sysroot=$(realpath -m "${2:?$usage}") suite=${3:-}
packages=("${@:4}")
if [ -z "$suite" ]; then
  packages=(
    libc6-dev libstdc++6 libtbb-dev libhwy-dev libfmt-dev libminizip-dev libinih-dev zlib1g-dev libdeflate-dev
    libflatbuffers-dev nlohmann-json3-dev libcli11-dev libvulkan-dev libpng-dev libjpeg62-turbo-dev
    python3.11-minimal libpython3.11-stdlib
  )
fi
stamp="$architecture $suite ${packages[*]}"
[ "$(cat "$sysroot/.stamp" 2>/dev/null)" = "$stamp" ] && exit 0

apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status" # nothing is installed: every dependency comes along
# If root runs this, apt's sandbox user cannot write here.
options=(-o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache"
  -o "Dir::State::status=$apt/status" -o APT::Sandbox::User= -o Dpkg::Use-Pty=0)
if [ -n "$suite" ]; then # from where the system's own suite is
  place=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | sed -n 1p)
  echo "deb $place $suite main" >"$apt/sources.list"
  options+=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-)
fi
echo "sysroot: Debian's packages for $architecture $suite"
apt-get "${options[@]}" update >"$apt/log" 2>&1 || { tail "$apt/log" >&2; exit 1; }
apt-get "${options[@]}" -y --no-install-recommends --download-only install "${packages[@]}" >"$apt/log" 2>&1 || { tail "$apt/log" >&2; exit 1; }
rm -rf "$sysroot"
mkdir -p "$sysroot"
for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$sysroot"; done
echo "$stamp" >"$sysroot/.stamp"
