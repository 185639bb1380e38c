#!/usr/bin/env bash
# Everything that a release hands out, in a new folder:
#
#   deploy/release.sh FOLDER
#
# It builds the programs first, with the list of their dependencies in them (cargo-auditable), which takes more than an hour
# on two cores. RELEASE_PROGRAMS names a folder with `crtx` and `crtx-server` that are there already. The packages and the
# image are the same bytes for the same programs, commit and machine.
#
# Needs: cargo-auditable, cargo-deb and cargo-cyclonedx (cargo install), npm, dpkg-dev.
set -euo pipefail
umask 022
mkdir "$1"
out=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# Lints of the tests are none of a release's.
unset RUSTC_WORKSPACE_WRAPPER

programs=${RELEASE_PROGRAMS:-}
if [ -z "$programs" ]; then
  cargo auditable build --workspace --bins --locked --profile services
  programs=${CARGO_TARGET_DIR:-target}/services
fi
version=$("$programs/crtx-server" --version | cut -d ' ' -f 2)
machine=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The programs, all times being that of the commit.
mkdir -p "$work/target/release"
install -m 755 "$programs/crtx" "$programs/crtx-server" "$work/target/release/"
pack() { # ARCHIVE FOLDER NAME...
  tar --create --gzip --file "$out/$1" --directory "$2" --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
    --numeric-owner --owner=0 --group=0 "${@:3}"
}
pack "crtx-$version-linux-$machine.tar.gz" "$work/target/release" crtx crtx-server
for package in crtx-cli crtx-server; do
  CARGO_TARGET_DIR=$work/target cargo deb --quiet --no-build --no-strip ${RELEASE_PROGRAMS:+--fast} --package "$package" --output "$out/"
done
deploy/container/build.sh "$work/target/release/crtx-server" "$out/crtx-server-$version-image-$machine.tar"
pack "crtx-chart-$version.tgz" deploy/helm crtx

# The program on chain, and its description.
cp programs/agent-marketplace/artifacts/agent_marketplace.so idl/agent_marketplace.json "$out/"

# What everything is made of.
# The tool writes beside every package of the workspace.
git clone --quiet --shared . "$work/tree"
cargo cyclonedx --quiet --format json --describe binaries --target "$(rustc --print host-tuple)" \
  --manifest-path "$work/tree/server/Cargo.toml"
for program in cli/crtx server/crtx-server; do
  sed "s|$work/tree||g" "$work/tree/${program}_bin.cdx.json" > "$out/${program#*/}.cdx.json"
done
# npm describes only what has a version.
mkdir "$work/dashboard"
cp app/package.json app/package-lock.json "$work/dashboard/"
(cd "$work/dashboard" && npm pkg set "version=$version" \
  && npm sbom --package-lock-only --omit dev --sbom-format cyclonedx > "$out/dashboard.cdx.json")

cd "$out"
sha256sum -- * > "$work/sums"
mv "$work/sums" SHA256SUMS
cat SHA256SUMS
