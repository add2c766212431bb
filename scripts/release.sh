#!/usr/bin/env bash
# Makes the files of a release from a tag, into build/release-VERSION: the source archive, Debian packages, wheels for
# x86-64 and 64-bit Arm and the source distribution for PyPI, the bill of materials, the notices, and SHA256SUMS. The
# same tag gives the same bytes.
#
#   scripts/release.sh [--twice] [--without deb|wheel|aarch64]... [--python PYTHON]... [TAG]   (default: the commit's
#   tag)
#
# --python makes a wheel for each: python3.10, python3.11 and python3.12 cover all versions (default: the system's).
# --twice builds everything again in another folder and compares. Uploading is a step of its own, which the last lines
# name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() { echo "release: $*" >&2; exit 1; }
say() { echo "release: $*"; }
twice=no without=" " tag= pythons=()
while [ $# -gt 0 ]; do
  case $1 in
    --twice) twice=yes ;;
    --without) shift; without+="${1:-} " ;;
    --python) shift; pythons+=("${1:?release: --python needs an interpreter}") ;;
    -h|--help) sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed -n 's/^# \{0,1\}//p'; exit 0 ;;
    -*) die "unknown argument $1 (--twice, --without deb|wheel|aarch64, --python PYTHON)" ;;
    *) tag=$1 ;;
  esac
  shift
done
[ -n "$tag" ] || tag=$(git describe --exact-match --tags 2>/dev/null) || die "this commit has no tag: git tag -a v0.1.0"
commit=$(git rev-parse -q --verify "$tag^{commit}") || die "there is no tag $tag"
version=$(git show "$commit:CMakeLists.txt" | sed -n 's/^project(carina VERSION \([0-9.]*\).*/\1/p')
[ "$tag" = "v$version" ] || die "the tag is $tag, but CMakeLists.txt of that commit says $version"
for file in pyproject.toml CITATION.cff debian/changelog; do
  git show "$commit:$file" | grep -q "$version" || die "$file of that commit does not name $version"
done
git show "$commit:include/carina/version.h" | grep -q "\"$version\"" || die "include/carina/version.h of that commit does not name $version"

# No time, no zone, no locale and no user of this machine is in the files. Options of a developer's builds are not for
# these.
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-2}
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-parallel=$CMAKE_BUILD_PARALLEL_LEVEL}
unset CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
SOURCE_DATE_EPOCH=$(git show -s --format=%ct "$commit")
out=$PWD/build/release-$version

# unpacked PART: the archive of the commit in a folder of $work, whose path is in no file of the release.
unpacked() {
  mkdir -p "$work/$1"
  tar -xzf "$archive" -C "$work/$1"
  source=$work/$1/carina-$version
}

# logged PART COMMAND...: runs it in the unpacked sources. Its output is shown only if it fails.
logged() {
  local log=$work/$1.log part=$1
  shift
  (cd "$source" && "$@" >>"$log" 2>&1) || { tail -n 20 "$log" >&2; die "the $part failed"; }
}

# make_all FOLDER: all files of the release, built in a folder that is named after it.
make_all() {
  local into=$1 archive=$1/carina_$version.orig.tar.gz source work=$PWD/build/work-of-${1##*/} aarch64=()
  rm -rf "$work" "$into"
  mkdir -p "$work" "$into"
  git archive --format=tar --prefix="carina-$version/" "$commit" | gzip -n9 >"$archive"
  if [[ $without != *" deb "* ]]; then
    say "Debian packages"
    unpacked deb
    logged deb dpkg-buildpackage -us -uc -b
    mv "$work"/deb/*.deb "$into/"
  fi
  unpacked wheel
  if [[ $without != *" wheel "* ]]; then
    say "wheels"
    if [[ $without != *" aarch64 "* ]]; then
      aarch64=(--aarch64)
      logged wheel scripts/sysroot.sh arm64 build/aarch64/sysroot
    fi
    logged wheel cmake --preset release
    logged wheel scripts/wheel.sh --sdist "${aarch64[@]}" "${pythons[@]}"
    mv "$source"/build/wheels/carina-* "$into/"
  fi
  # By the Python that made the last wheel: the notices need the license texts of packages of its.
  local python
  python=$(find "$source/build" -path '*/wheel-tools*/bin/python' | sort | tail -n 1)
  (cd "$source" && "${python:-python3}" scripts/third_party.py notices "$into/THIRD-PARTY-NOTICES.txt" && "${python:-python3}" scripts/third_party.py sbom "$into/sbom.cdx.json" "$version")
  # Pages that are not in the repository, of which docs has summaries.
  logged pages cmake --preset release
  logged pages cmake --build build/release --target carina tosa_test
  logged pages python3 scripts/generated_pages.py "$work/pages"
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@"$SOURCE_DATE_EPOCH" -cf - pages |
    gzip -n9 >"$into/carina-$version-pages.tar.gz"
  (cd "$into" && sha256sum -- * >SHA256SUMS)
  rm -rf "$work"
}

make_all "$out"
if [ $twice = yes ]; then
  say "once more, to compare"
  make_all "$out-again"
  diff "$out/SHA256SUMS" "$out-again/SHA256SUMS" || die "two builds of $tag differ"
  rm -rf "$out-again"
  say "both builds have the same bytes"
fi
say "made in $out:"
(cd "$out" && sed 's/^/  /' SHA256SUMS)
say "to publish, with the rights: git push origin $tag; gh release create $tag $out/*; twine upload $out/carina-*"
