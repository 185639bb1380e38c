#!/usr/bin/env bash
# The container image of crtx-server, as an archive for `docker load`, `podman load` and `skopeo copy oci-archive:…`:
#
#   deploy/container/build.sh PROGRAM ARCHIVE
#
# No container engine takes part, and no base image: the image has the program, the libraries of this machine that it
# needs, and the certificates of this machine. It has no shell, and its user is not root. The same program on the same
# machine gives the same bytes.
set -euo pipefail
umask 022

program=$1 archive=$(realpath --no-symlinks "$2")
version=$("$program" --version | cut -d ' ' -f 2)
epoch=${SOURCE_DATE_EPOCH:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root blobs=$work/image/blobs/sha256
mkdir -p "$root/etc" "$root/var/lib" "$blobs"

# What the image contains.
install -D -m 755 "$program" "$root/usr/bin/crtx-server"
ldd "$program" | grep --only-matching '/[^ ]*' | while read -r library; do
  install -D -m 755 "$library" "$root$library"
done
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
for package in libc6 libgcc-s1; do
  install -D -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done
install -m 644 /usr/lib/os-release "$root/etc/os-release"
echo 'hosts: files dns' > "$root/etc/nsswitch.conf"
echo 'crtx:x:65532:65532::/var/lib/crtx:/usr/sbin/nologin' > "$root/etc/passwd"
echo 'crtx:x:65532:' > "$root/etc/group"

layer=$work/layer.tar
pack() { # OWNER FOLDER...
  tar --append --file "$layer" --directory "$root" --format=gnu --sort=name --mtime="@$epoch" --numeric-owner \
    --owner="$1" --group="$1" "${@:2}"
}
mapfile -t folders < <(ls "$root")
pack 0 "${folders[@]}"
mkdir -p "$root/var/lib/crtx/content"
chmod 700 "$root/var/lib/crtx" "$root/var/lib/crtx/content"
pack 65532 var/lib/crtx
mkdir -m 1777 "$root/tmp"
pack 0 tmp

# The description of the image, in the form of the OCI, and an index that older versions of Docker read.
hash() { sha256sum "$1" | cut -d ' ' -f 1; }
blob() { # FILE: stores it under its hash; prints its descriptor
  local name
  name=$(hash "$1")
  cp "$1" "$blobs/$name"
  printf '"digest":"sha256:%s","size":%s' "$name" "$(stat --format %s "$1")"
}
diff_id=$(hash "$layer")
gzip --no-name "$layer"
layer_is=$(blob "$layer.gz")
cat > "$work/config" <<END
{"architecture":"$(dpkg --print-architecture)","os":"linux","created":"$(date --utc --date "@$epoch" +%FT%TZ)",
"config":{"User":"65532:65532","Entrypoint":["/usr/bin/crtx-server"],"WorkingDir":"/var/lib/crtx",
"Env":["PATH=/usr/bin","CRTX_LISTEN=0.0.0.0:8080"],"ExposedPorts":{"8080/tcp":{}},"StopSignal":"SIGTERM",
"Labels":{"org.opencontainers.image.title":"crtx-server","org.opencontainers.image.version":"$version",
"org.opencontainers.image.licenses":"Apache-2.0"}},
"rootfs":{"type":"layers","diff_ids":["sha256:$diff_id"]},
"history":[{"created":"$(date --utc --date "@$epoch" +%FT%TZ)","created_by":"deploy/container/build.sh"}]}
END
config_is=$(blob "$work/config")
cat > "$work/manifest" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",
"config":{"mediaType":"application/vnd.oci.image.config.v1+json",$config_is},
"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip",$layer_is}]}
END
cat > "$work/image/index.json" <<END
{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{
"mediaType":"application/vnd.oci.image.manifest.v1+json",$(blob "$work/manifest"),
"annotations":{"io.containerd.image.name":"docker.io/library/crtx-server:$version",
"org.opencontainers.image.ref.name":"$version"}}]}
END
cat > "$work/image/manifest.json" <<END
[{"Config":"blobs/sha256/$(hash "$work/config")","RepoTags":["crtx-server:$version"],
"Layers":["blobs/sha256/$(hash "$layer.gz")"]}]
END
echo '{"imageLayoutVersion":"1.0.0"}' > "$work/image/oci-layout"
tar --create --file "$archive" --directory "$work/image" --format=gnu --sort=name --mtime="@$epoch" --numeric-owner \
  --owner=0 --group=0 .
echo "$archive: crtx-server:$version, $(stat --format %s "$archive") bytes"
