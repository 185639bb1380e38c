#!/usr/bin/env bash
# From a Debian machine with `crtx` and `crtx-server` to a paid and verified call on devnet, or on another network.
#
#   deploy/devnet.sh keys   makes the key pairs, and prints the address that needs 5 SOL
#   deploy/devnet.sh        does everything else
#
# Each step looks first at what is there, so it can be run again at any time: after an error, after an interruption, and
# with a new version of the programs. docs/deploy.md explains the steps and all variables.
set -euo pipefail
umask 077

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export CRTX_NETWORK=${CRTX_NETWORK:-devnet}
export CRTX_RPC_URL=${CRTX_RPC_URL:-https://api.devnet.solana.com}
RPC_WS_URL=${CRTX_RPC_WS_URL:-wss://api.devnet.solana.com}
# `systemd`, or `background`: the services then run until the machine stops, and nothing of the machine is changed.
SERVICES=${DEPLOY_SERVICES:-systemd}
if [ "$SERVICES" = systemd ]; then DEFAULT_FOLDER=/etc/crtx; else DEFAULT_FOLDER=$HOME/crtx-deployment; fi
FOLDER=${DEPLOY_FOLDER:-$DEFAULT_FOLDER}
API_PORT=${DEPLOY_API_PORT:-8080}
INDEXER_PORT=${DEPLOY_INDEXER_PORT:-8081}
WORKER_PORT=${DEPLOY_WORKER_PORT:-8082}
AGENT_PORT=${DEPLOY_AGENT_PORT:-4021}
BUCKET=${DEPLOY_BUCKET:-}
STANDBY_URL=${DATABASE_STANDBY_URL:-}

say() { echo "deploy: $*" >&2; }
fail() {
  say "$*"
  exit 1
}

# A file with what standard input says. `CHANGED` is set if it was another one.
put() { # FILE MODE
  local new
  new=$(mktemp "$1.XXXXXX")
  cat > "$new"
  chmod "$2" "$new"
  if cmp --silent "$new" "$1"; then
    rm "$new"
  else
    mv "$new" "$1"
    CHANGED=yes
  fi
}

key() { echo "$FOLDER/keys/$1.json"; }
address() { crtx wallet address --keypair "$(key "$1")"; }
member() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

make_keys() {
  mkdir -p "$FOLDER/keys"
  local name
  for name in authority resolver gateway treasury insurance guardian creator caller; do
    [ -e "$(key "$name")" ] || crtx wallet new --out "$(key "$name")" > /dev/null 2>&1
  done
}

# Sends SOL to a wallet that has less than `LEAST` lamports, and USDC to one that has none.
top_up() { # NAME LEAST SOL USDC
  local shown to send=()
  to=$(address "$1")
  shown=$(crtx wallet show "$to" --json)
  [ "$(member lamports <<< "$shown")" -ge "$2" ] || send+=(--sol "$3")
  if [ "$4" != 0 ] && [ "$(member usdc <<< "$shown")" = 0 ]; then send+=(--usdc "$4"); fi
  if [ "${#send[@]}" -gt 0 ]; then
    say "$1 gets ${send[*]}"
    crtx wallet send "$to" "${send[@]}" --keypair "$(key authority)" --yes > /dev/null
  fi
}

deploy_program() {
  say "the program"
  local keypair=${DEPLOY_PROGRAM_KEYPAIR:-$(key program)} first=()
  [ ! -e "$keypair" ] || first=(--program-keypair "$keypair")
  crtx admin deploy "${first[@]}" --keypair "$(key authority)" --yes
}

set_up_marketplace() {
  say "mint and configuration"
  local shown status=0
  shown=$(crtx admin status --json 2>&1) || status=$?
  case "$status" in
    0) USDC_MINT=$(member usdc_mint <<< "$shown") ;;
    3) USDC_MINT=${DEPLOY_USDC_MINT:-$(crtx admin test-mint --usdc 10000 --keypair "$(key authority)" --yes)} ;;
    *) fail "$shown" ;;
  esac
  crtx admin init --usdc-mint "$USDC_MINT" --resolver "$(address resolver)" --gateway-authority "$(address gateway)" \
    --treasury-owner "$(address treasury)" --insurance-owner "$(address insurance)" --guardian "$(address guardian)" \
    --keypair "$(key authority)" --yes
  # Pays the fees of all calls, and the rent of their records, which returns.
  top_up gateway 100000000 0.3 0
}

# Settings and secrets of the services. `CHANGED` says afterwards whether they have to be started again.
configure() { # FOLDER OF CONTENT
  CHANGED=no
  local content="dir = \"$1\""
  [ -z "$BUCKET" ] || content="s3_bucket = \"$BUCKET\""
  [ -z "${DEPLOY_BUCKET_ENDPOINT:-}" ] || content+=$'\n'"s3_endpoint = \"$DEPLOY_BUCKET_ENDPOINT\""
  [ -z "${DEPLOY_BUCKET_REGION:-}" ] || content+=$'\n'"s3_region = \"$DEPLOY_BUCKET_REGION\""
  sha256sum "$(command -v crtx-server)" | put "$FOLDER/crtx-server.sha256" 644
  mkdir -p "$FOLDER/secrets"
  printf '%s' "$DATABASE_URL" | put "$FOLDER/secrets/database-url" 600
  [ -z "$STANDBY_URL" ] || printf '%s' "$STANDBY_URL" | put "$FOLDER/secrets/database-standby-url" 600
  printf '%s' "$CRTX_RPC_URL" | put "$FOLDER/secrets/rpc-urls" 600
  printf '%s' "$RPC_WS_URL" | put "$FOLDER/secrets/rpc-ws-url" 600
  # No secret is in it, so the user of the services may read it.
  put "$FOLDER/crtx.toml" 644 <<END
network = "$CRTX_NETWORK"
public_url = "$CRTX_URL"
trusted_proxies = ["127.0.0.1"]

[program]
usdc_mint = "$USDC_MINT"

[content]
$content
END
}

# One process in the background, unless it runs already with these settings.
start() { # NAME COMMAND...
  local name=$1 pid
  shift
  pid=$(cat "$FOLDER/run/$name.pid" 2> /dev/null || true)
  if [ -n "$pid" ] && grep --quiet --fixed-strings "$FOLDER" "/proc/$pid/cmdline" 2> /dev/null; then
    [ "$CHANGED" = yes ] || return 0
    kill "$pid"
    tail --pid="$pid" --follow /dev/null
  fi
  (cd "$FOLDER" && exec nohup "$@" >> "log/$name.log" 2>&1 < /dev/null) &
  echo $! > "$FOLDER/run/$name.pid"
}

start_server() { # ROLE PORT
  start "$1" env --ignore-environment PATH="$PATH" HOME="$FOLDER" \
    CRTX_DATABASE_URL_FILE="$FOLDER/secrets/database-url" CRTX_RPC_URLS_FILE="$FOLDER/secrets/rpc-urls" \
    CRTX_DATABASE_STANDBY_URL_FILE="${STANDBY_URL:+$FOLDER/secrets/database-standby-url}" \
    CRTX_RPC_WS_URL_FILE="$FOLDER/secrets/rpc-ws-url" CRTX_GATEWAY_KEYPAIR_FILE="$(key gateway)" \
    CRTX_CONTENT_S3_ACCESS_KEY_ID_FILE="${BUCKET:+$FOLDER/secrets/s3-access-key-id}" \
    CRTX_CONTENT_S3_SECRET_ACCESS_KEY_FILE="${BUCKET:+$FOLDER/secrets/s3-secret-access-key}" \
    crtx-server --config "$FOLDER/crtx.toml" --role "$1" --listen "127.0.0.1:$2"
}

services_in_background() {
  : "${DATABASE_URL:?the URL of an empty PostgreSQL database}"
  mkdir -p "$FOLDER/log" "$FOLDER/run"
  configure "$FOLDER/content"
  start_server api "$API_PORT"
  start_server indexer "$INDEXER_PORT"
  start_server worker "$WORKER_PORT"
}

install_packages() {
  local missing=()
  command -v psql > /dev/null || missing+=(postgresql)
  command -v caddy > /dev/null || missing+=(caddy)
  command -v node > /dev/null || missing+=(nodejs)
  if [ "${#missing[@]}" -gt 0 ]; then
    apt-get update
    apt-get install --yes --no-install-recommends "${missing[@]}"
  fi
  [ "$(node --print 'process.versions.node.split(".")[0]')" -ge 20 ] || fail "the example agent needs Node.js 20"
}

# A database that the user of the services opens without a password, over the socket.
make_database() {
  local ask=(runuser -u postgres -- psql --no-psqlrc --tuples-only --no-align --command)
  [ -n "$("${ask[@]}" "SELECT 1 FROM pg_roles WHERE rolname = 'crtx'")" ] || runuser -u postgres -- createuser crtx
  [ -n "$("${ask[@]}" "SELECT 1 FROM pg_database WHERE datname = 'crtx'")" ] \
    || runuser -u postgres -- createdb --owner crtx crtx
  DATABASE_URL='postgres://crtx@localhost/crtx?host=/run/postgresql'
}

services_of_systemd() {
  id crtx > /dev/null 2>&1 || useradd --system --home-dir /var/lib/crtx --shell /usr/sbin/nologin crtx
  [ -n "${DATABASE_URL:-}" ] || make_database
  # The key pairs and secrets stay closed: systemd reads them for the services.
  chmod 711 "$FOLDER"
  configure /var/lib/crtx/content
  local role
  put /etc/systemd/system/crtx-agent.service 644 < "$HERE/systemd/crtx-agent.service"
  # The Debian package brings the others.
  if [ ! -e /usr/lib/systemd/system/crtx-server@.service ]; then
    put /etc/systemd/system/crtx-server@.service 644 < "$HERE/systemd/crtx-server@.service"
    for role in api worker; do
      mkdir -p "/etc/systemd/system/crtx-server@$role.service.d"
      put "/etc/systemd/system/crtx-server@$role.service.d/gateway.conf" 644 < "$HERE/systemd/gateway.conf"
    done
  fi
  for role in api worker; do
    [ -n "$BUCKET" ] || break
    mkdir -p "/etc/systemd/system/crtx-server@$role.service.d"
    put "/etc/systemd/system/crtx-server@$role.service.d/bucket.conf" 644 < "$HERE/systemd/bucket.conf"
  done
  if [ -n "$STANDBY_URL" ]; then
    mkdir -p /etc/systemd/system/crtx-server@api.service.d
    put /etc/systemd/system/crtx-server@api.service.d/standby.conf 644 < "$HERE/systemd/standby.conf"
  fi
  local port metrics
  while read -r role port metrics; do
    put "$FOLDER/$role.env" 644 <<END
CRTX_LISTEN=127.0.0.1:$port
CRTX_METRICS_LISTEN=127.0.0.1:$metrics
END
  done <<< "api $API_PORT 9464
indexer $INDEXER_PORT 9465
worker $WORKER_PORT 9466"
  systemctl daemon-reload
  systemctl enable --now crtx-server@api crtx-server@indexer crtx-server@worker
  [ "$CHANGED" = no ] || systemctl restart crtx-server@api crtx-server@indexer crtx-server@worker
  CHANGED=no
  local host=${CRTX_URL#https://}
  sed -e "s|crtx.example|$host|" -e "s|:8080|:$API_PORT|" -e "s|:4021|:$AGENT_PORT|" "$HERE/Caddyfile" \
    | put /etc/caddy/Caddyfile 644
  [ "$CHANGED" = no ] || systemctl reload-or-restart caddy
}

wait_for_services() {
  say "waiting for the services"
  local get=(curl --retry 90 --retry-delay 1 --retry-all-errors --silent --fail --output "$FOLDER/ready")
  "${get[@]}" "http://127.0.0.1:$API_PORT/readyz" \
    || fail "they do not start: see journalctl -u 'crtx-server@*', or $FOLDER/log"
  # The proxy gets its certificate at the first start.
  "${get[@]}" "$CRTX_URL/readyz" || fail "$CRTX_URL does not lead to them: see journalctl -u caddy"
}

# The example agent: a service of Node.js on this machine, which counts words.
publish_agent() {
  say "the example agent"
  local agent=$FOLDER/word-count
  [ -e "$agent" ] || (cd "$FOLDER" && crtx agent init word-count > /dev/null)
  sed -i "s|^endpoint = .*|endpoint = \"$AGENT_URL/execute\"|" "$agent/agent.toml"
  if [ "$SERVICES" = systemd ]; then
    put "$FOLDER/agent.env" 644 <<< "PORT=$AGENT_PORT"
    systemctl enable --now crtx-agent
  else
    start agent env --ignore-environment PATH="$PATH" PORT="$AGENT_PORT" node "$agent/service.mjs"
  fi
  curl --retry 60 --retry-delay 1 --retry-connrefused --silent --output "$FOLDER/ready" "http://127.0.0.1:$AGENT_PORT/"
  top_up creator 20000000 0.1 100
  AGENT_ID=$(crtx agent publish "$agent" --keypair "$(key creator)" --yes)
}

# A call that is paid once; its record stays, and is verified each time.
call() {
  say "a paid call, and its proof"
  top_up caller 10000000 0.05 20
  if [ ! -s "$FOLDER/api-key" ]; then
    crtx key create first-key --per-call 0.10 --total 5 --keypair "$(key caller)" --yes > "$FOLDER/api-key.new"
    mv "$FOLDER/api-key.new" "$FOLDER/api-key"
  fi
  if [ ! -s "$FOLDER/answer.json" ]; then
    # A run that was interrupted asks for the same call again. Only a call that was refunded is followed by another one.
    [ -s "$FOLDER/first-call" ] || date +first-call-%s%N > "$FOLDER/first-call"
    if ! CRTX_API_KEY=$(cat "$FOLDER/api-key") crtx execute "$AGENT_ID" --task 'One two three.' --wait --json \
      --idempotency-key "$(cat "$FOLDER/first-call")" > "$FOLDER/answer.new"; then
      [ "$(member status < "$FOLDER/answer.new")" != failed ] || rm "$FOLDER/first-call"
      fail "the call failed; run this again once its reason is mended"
    fi
    mv "$FOLDER/answer.new" "$FOLDER/answer.json"
  fi
  CRTX_API_KEY=$(cat "$FOLDER/api-key") crtx verify --file "$FOLDER/answer.json"
}

command -v crtx > /dev/null && command -v crtx-server > /dev/null || fail "crtx and crtx-server are not in PATH"
case "$SERVICES" in
  systemd)
    [ "$(id -u)" = 0 ] || fail "run this as root, or with DEPLOY_SERVICES=background"
    [ -x /usr/local/bin/crtx-server ] || [ -x /usr/bin/crtx-server ] \
      || fail "the units start crtx-server of /usr/local/bin or /usr/bin, and there is none"
    [ "$FOLDER" = /etc/crtx ] || fail "the units read /etc/crtx; DEPLOY_FOLDER is for DEPLOY_SERVICES=background"
    ;;
  background) ;;
  *) fail "DEPLOY_SERVICES is systemd or background" ;;
esac
mkdir -p "$FOLDER"
export CRTX_CONFIG_DIR=$FOLDER/config
make_keys
if [ "${1:-}" = keys ]; then
  say "send 5 SOL to this address on $CRTX_NETWORK, then run $0 again"
  address authority
  exit
fi
[ $# = 0 ] || fail "the only argument is keys"
[ -z "$BUCKET" ] || [ -s "$FOLDER/secrets/s3-secret-access-key" ] \
  || fail "the key of the bucket is wanted in $FOLDER/secrets/s3-access-key-id and s3-secret-access-key"
: "${CRTX_URL:?the https:// address of the API, whose name leads to this machine}"
export CRTX_URL
AGENT_URL=${DEPLOY_AGENT_URL:-$CRTX_URL/example-agent}
[ "$SERVICES" != systemd ] || install_packages
deploy_program
set_up_marketplace
if [ "$SERVICES" = systemd ]; then services_of_systemd; else services_in_background; fi
wait_for_services
publish_agent
call
say "everything runs; the key pairs are in $FOLDER/keys: keep copies, and all but gateway.json somewhere else"
