#!/usr/bin/env bash
# What deploy/release.sh makes of programs that are built already: the packages are installed, upgraded and removed in a
# Debian of its own, and the image runs without a container engine.
#
#   deploy/check-packages.sh FOLDER-OF-PROGRAMS
#
# Needs root, mmdebstrap, umoci, systemd and what deploy/release.sh needs.
set -euo pipefail
programs=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

RELEASE_PROGRAMS=$programs deploy/release.sh "$work/one" > "$work/sums"
(cd "$work/one" && sha256sum --check --quiet SHA256SUMS)
# The same again is the same, but for the descriptions of dependencies, which have a number and a time of their own.
RELEASE_PROGRAMS=$programs deploy/release.sh "$work/two" > "$work/sums"
diff <(grep -v cdx "$work/one/SHA256SUMS") <(grep -v cdx "$work/two/SHA256SUMS")
rm -r "$work/two"
python3 - "$work"/one/*.cdx.json << 'END'
import json, sys
for path in sys.argv[1:]:
    document = json.load(open(path))
    assert document["bomFormat"] == "CycloneDX", path
    components = document["components"]
    assert len(components) > 10 and all(component["purl"] for component in components), path
    print(path.rsplit("/", 1)[1], "names", len(components), "components")
END

# The packages.
machine=$work/machine
# shellcheck source=/dev/null
mmdebstrap --quiet --variant=minbase --include=systemd,ca-certificates "$(. /etc/os-release && echo "$VERSION_CODENAME")" \
  "$machine"
cp "$work"/one/*.deb "$machine/tmp/"
inside() { chroot "$machine" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
inside sh -c 'apt-get install --quiet --yes --no-install-recommends /tmp/*.deb' > "$work/apt"
inside crtx --version
inside crtx-server --version
test "$(inside id --user --name crtx)" = crtx
for role in api indexer worker; do
  inside systemd-analyze verify "/usr/lib/systemd/system/crtx-server@.service" "crtx-server@$role.service"
  inside grep --quiet "^CRTX_LISTEN=127.0.0.1:" "/etc/crtx/$role.env"
done
test "$(stat --format %a "$machine/etc/crtx/keys" "$machine/etc/crtx/secrets" | sort --unique)" = 700
# An operator's settings stay when the package comes again, and content and keys when it goes.
echo '# of the operator' >> "$machine/etc/crtx/crtx.toml"
mkdir -p "$machine/var/lib/crtx/content"
echo key > "$machine/etc/crtx/keys/gateway.json"
inside sh -c 'dpkg --install /tmp/crtx-server_*.deb' > "$work/dpkg"
grep --quiet '# of the operator' "$machine/etc/crtx/crtx.toml"
inside dpkg --purge crtx-server > "$work/dpkg" 2>&1
test ! -e "$machine/usr/bin/crtx-server" && test ! -e "$machine/etc/crtx/crtx.toml"
test -d "$machine/var/lib/crtx/content" && test -s "$machine/etc/crtx/keys/gateway.json"

# The image: unpacked by another program, read only, and with the user that it names.
mkdir "$work/image"
tar --extract --file "$work"/one/*-image-*.tar --directory "$work/image"
tag=$("$programs/crtx-server" --version | cut -d ' ' -f 2)
umoci unpack --image "$work/image:$tag" "$work/bundle"
root=$work/bundle/rootfs
user=$(python3 -c 'import json, sys; print("{uid}:{gid}".format(**json.load(sys.stdin)["process"]["user"]))' \
  < "$work/bundle/config.json")
test "$user" = 65532:65532
test ! -e "$root/bin/sh" && test ! -e "$root/usr/bin/sh"
unshare --mount -- bash -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"' - "$root" \
  chroot --userspec="$user" "$root" /usr/bin/crtx-server --version
echo "the packages install, upgrade and go; the image runs as $user from a file system that it cannot write to"
