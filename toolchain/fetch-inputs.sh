#!/usr/bin/env bash
# Puts the packages of inputs.txt, bytes checked, into a cache folder.
#
#   fetch-inputs.sh CACHE_DIR
#
# What is missing is taken from $SBF_CACHE when that names a folder that has it, else downloaded with the
# machine's own apt from the `unstable` suite of the Debian mirror it is set up with. Nothing is installed
# and no list of the system's is touched. Exit status 3: a package is unavailable in the pinned version.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"; cache=$(cd "$1" && pwd)

sha_of() { sha256sum "$1" | cut -d' ' -f1; }
have() { [ -e "$cache/$1.deb" ] && [ "$(sha_of "$cache/$1.deb")" = "$2" ]; }
# A folder prepared elsewhere may hold only the library part of rust-src, repacked.
library_sha=05c692738fb8a5b1d256e8d8cabe4a663a1b3faf42a6b1c2b0321b8c9065b9bf
have_library() { [ -e "$cache/rust-library.tar.xz" ] && [ "$(sha_of "$cache/rust-library.tar.xz")" = "$library_sha" ]; }

missing=()
while read -r name version sha; do
  case "$name" in ''|'#'*) continue ;; esac
  have "$name" "$sha" && continue
  if [ "$name" = rust-src ] && have_library; then continue; fi
  if [ -n "${SBF_CACHE:-}" ]; then
    if [ -e "$SBF_CACHE/$name.deb" ]; then cp "$SBF_CACHE/$name.deb" "$cache/$name.deb"; have "$name" "$sha" && continue; fi
    if [ "$name" = rust-src ] && [ -e "$SBF_CACHE/rust-library-1.97.1.tar.xz" ]; then
      cp "$SBF_CACHE/rust-library-1.97.1.tar.xz" "$cache/rust-library.tar.xz"; have_library && continue
    fi
  fi
  missing+=("$name=$version")
done < "$here/inputs.txt"
[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null || { echo "fetch-inputs: no apt-get on this machine and not in \$SBF_CACHE: ${missing[*]}" >&2; exit 3; }
mirror=$(sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -v security | head -n 1)
[ -n "$mirror" ] || { echo "fetch-inputs: this machine names no Debian mirror" >&2; exit 3; }
state=$(mktemp -d); trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"; : > "$state/status"
echo "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror unstable main" > "$state/sources.list"
apt=(-qq -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$state/lists"
     -o "Dir::Cache=$state/cache" -o "Dir::State::status=$state/status" -o APT::Sandbox::User=root -o APT::Architecture=amd64)
cd "$state"
if ! apt-get "${apt[@]}" update || ! apt-get "${apt[@]}" download "${missing[@]}"; then
  echo "fetch-inputs: unavailable in the pinned version: ${missing[*]}" >&2; exit 3
fi
while read -r name version sha; do
  case "$name" in ''|'#'*) continue ;; esac
  for deb in "$state/${name}"_*.deb; do
    [ -e "$deb" ] || continue
    [ "$(sha_of "$deb")" = "$sha" ] || { echo "fetch-inputs: $name is not the pinned package" >&2; exit 3; }
    mv "$deb" "$cache/$name.deb"
  done
done < "$here/inputs.txt"
