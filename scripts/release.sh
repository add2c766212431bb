#!/usr/bin/env bash
# Makes the files of a release from a tag, into build/release-VERSION: the source archive, Debian packages, wheels, the
# bill of materials, the notices, and SHA256SUMS. The same tag gives the same bytes.
#
#   scripts/release.sh [--twice] [--without deb|wheel] [--python PYTHON]... [TAG]   (default: the commit's tag)
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
    -*) die "unknown argument $1 (--twice, --without deb|wheel, --python PYTHON)" ;;
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

# No time, no zone, no locale and no user of this machine is in the files.
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
SOURCE_DATE_EPOCH=$(git show -s --format=%ct "$commit")
out=$PWD/build/release-$version
work=$PWD/build/release-work

# make_all FOLDER: everything, from an archive of the commit that is unpacked at one place, whose path is in no file.
make_all() {
  local into=$1 source=$work/carina-$version
  rm -rf "$work" "$into"
  mkdir -p "$work" "$into"
  git archive --format=tar --prefix="carina-$version/" "$commit" | gzip -n9 >"$into/carina-$version.tar.gz"
  tar -xzf "$into/carina-$version.tar.gz" -C "$work"
  if [[ $without != *" deb "* ]]; then
    say "Debian packages"
    (cd "$source" && dpkg-buildpackage -us -uc -b >"$work/deb.log" 2>&1) || { tail -n 20 "$work/deb.log" >&2; die "dpkg-buildpackage failed"; }
    mv "$work"/*.deb "$into/"
  fi
  if [[ $without != *" wheel "* ]]; then
    say "wheels"
    (cd "$source" && cmake --preset release >"$work/wheel.log" && cmake --build --preset release -j 2 >>"$work/wheel.log" &&
      scripts/wheel.sh "${pythons[@]}" >>"$work/wheel.log" 2>&1) || { tail -n 20 "$work/wheel.log" >&2; die "the wheel failed"; }
    mv "$source"/build/wheels/*.whl "$into/"
  fi
  (cd "$source" && python3 scripts/third_party.py notices "$into/THIRD-PARTY-NOTICES.txt" && python3 scripts/third_party.py sbom "$into/sbom.cdx.json" "$version")
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
say "to publish, with the rights: git push origin $tag; gh release create $tag $out/*; twine upload $out/*.whl"
