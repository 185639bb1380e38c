//! A marketplace outside of `crtx up`: the commands of `docs/deploy.md`, which run `deploy/devnet.sh`, the units of
//! systemd, and what `crtx admin init` refuses, on Agave's validator.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use crtx_child::ValidatorPorts;
use crtx_content::testing::{Outage, S3Server};
use crtx_e2e::{
    crtx_binary, free_port, shell_commands,
    standby::Standby,
    terminal::Terminal,
    validator::{self, Validator},
};
use crtx_postgres::PostgresCluster;
use crtx_protocol::result_hash::ResultHash;
use serde_json::{Value, json};
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer;
use tokio::process::{Child, Command};

const DOCUMENT: &str = include_str!("../../../docs/deploy.md");
const ELF: &str = "programs/agent-marketplace/artifacts/agent_marketplace.so";
const ROLES: [&str; 5] = ["resolver", "gateway", "treasury", "insurance", "guardian"];
/// Many times what it takes.
const LIMIT: Duration = Duration::from_secs(300);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A shell and everything that it started, which ends with it.
struct Shell {
    process: Child,
    group: u32,
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.group);
        let _ = std::process::Command::new("kill").args(["-s", "KILL", "--", &group]).status();
    }
}

impl Shell {
    /// Waits until the commands have ended, all of them well.
    async fn ends(&mut self, home: &Path, place: &Path) {
        let (status, logs) = self.status(home, place).await;
        assert!(status.success(), "{status}\n{logs}");
    }

    /// Waits until the commands have ended; how, and what they said.
    async fn status(&mut self, home: &Path, place: &Path) -> (ExitStatus, String) {
        let status = tokio::time::timeout(LIMIT, self.process.wait()).await;
        let logs = || {
            let names = ["validator.log", "log/api.log", "log/indexer.log", "log/worker.log", "log/agent.log"];
            let all = names.into_iter().map(|name| end_of(&place.join(name)));
            all.chain([end_of(&home.join("shell.log"))]).collect::<String>()
        };
        let status = status.unwrap_or_else(|_| panic!("the commands do not end\n{}", logs())).unwrap();
        (status, logs())
    }

    fn start(script: &str, home: &Path, programs: &[&Path]) -> Self {
        let log = fs::File::create(home.join("shell.log")).unwrap();
        let mut path: Vec<PathBuf> = programs.iter().map(|folder| folder.to_path_buf()).collect();
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new("bash");
        command.args(["-euxo", "pipefail", "-c", script]).current_dir(root());
        // Nothing of the user's settings takes part.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("CRTX_")) {
                command.env_remove(name);
            }
        }
        command.env("HOME", home).env("PATH", std::env::join_paths(path).unwrap()).env_remove("DATABASE_URL");
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        let process = command.spawn().expect("bash runs");
        let group = process.id().unwrap();
        Self { process, group }
    }
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn end_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    format!("--- {}\n{}\n", path.display(), lines[lines.len().saturating_sub(30)..].join("\n"))
}

fn address(file: &Path) -> String {
    let numbers: Vec<u8> = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    Keypair::new_from_array(numbers[..32].try_into().unwrap()).pubkey().to_string()
}

/// Arguments of `crtx admin init` with the key pairs of a folder.
fn init(folder: &Path, mint: &str) -> Vec<String> {
    let mut line = vec!["admin".to_owned(), "init".to_owned(), "--usdc-mint".to_owned(), mint.to_owned()];
    let flags = ["--resolver", "--gateway-authority", "--treasury-owner", "--insurance-owner", "--guardian"];
    for (role, flag) in ROLES.iter().zip(flags) {
        line.extend([flag.to_owned(), address(&folder.join(format!("{role}.json")))]);
    }
    line
}

fn with<'a>(line: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    line.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

#[test]
fn the_commands_of_a_document_are_its_shell_blocks() {
    let document = "a\n```sh\none\n  two\n```\nb\n```text\nthree\n```\n```sh\nfour\n```\n";
    assert_eq!(shell_commands(document), "one\n  two\nfour\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_deployment_document_works_and_the_call_is_paid_and_verified() {
    let Some(program) = validator::find("deploy") else { return };
    let folder = crtx_e2e::folder();
    let (home, programs) = (folder.path(), folder.path().join("bin"));
    let ports = ValidatorPorts::free(None).unwrap();
    let cluster = PostgresCluster::start(home, &|text| eprintln!("{text}")).await.expect("PostgreSQL");
    // The validator of the document, on ports that no other test uses.
    fs::create_dir(&programs).unwrap();
    let wrapper = programs.join("solana-test-validator");
    write_program(&wrapper, &format!("exec '{}' \"$@\" {}", program.display(), ports.arguments().join(" ")));

    let mut script = shell_commands(DOCUMENT);
    let [api, indexer, worker, service] = std::array::from_fn(|_| free_port().unwrap());
    for (documented, here) in [
        ("http://127.0.0.1:8899", format!("http://127.0.0.1:{}", ports.rpc())),
        ("ws://127.0.0.1:8900", format!("ws://127.0.0.1:{}", ports.websocket())),
        ("127.0.0.1:8080", format!("127.0.0.1:{api}")),
        ("127.0.0.1:4021", format!("127.0.0.1:{service}")),
        ("postgres://crtx@127.0.0.1:5432/crtx", format!("'{}'", cluster.url())),
    ] {
        assert!(script.contains(documented), "the document names {documented}");
        script = script.replace(documented, &here);
    }
    let port = |(name, port)| format!("export DEPLOY_{name}_PORT={port}\n");
    let ports_used = [("API", api), ("INDEXER", indexer), ("WORKER", worker), ("AGENT", service)].map(port).concat();
    script.insert_str(0, &ports_used);
    let binaries = crtx_binary();
    let place = home.join("crtx-deployment");
    let paths = [&programs, binaries.parent().unwrap()];
    let exports = |line: &&str| line.starts_with("export ");
    let variables = script.lines().filter(exports).fold(String::new(), |all, line| all + line + "\n");
    let (before, after) = script.rsplit_once("deploy/devnet.sh\n").expect("the document ends with the script");
    assert_eq!(after, "");
    let mut shell = Shell::start(before, home, &paths);
    shell.ends(home, &place).await;
    // The script is killed with all that it started, at ever later moments, the last one when the call is paid and its
    // answer is not written yet, before a run that ends.
    let run = format!("{variables}deploy/devnet.sh");
    let killed_then = "[ \"$1\" != execute ] || { \"$real\" \"$@\" > /dev/null; kill -s KILL 0; }";
    let (real, wrapped) = (binaries.display(), programs.join("crtx"));
    write_program(&wrapped, &format!("real='{real}'\n{killed_then}\nexec \"$real\" \"$@\""));
    for pause in [1, 3, 6].map(Duration::from_secs) {
        let interrupted = Shell::start(&run, home, &paths);
        tokio::time::sleep(pause).await;
        drop(interrupted);
    }
    let (ended, logs) = Shell::start(&run, home, &paths).status(home, &place).await;
    assert!(!ended.success() && !place.join("answer.json").exists(), "{ended}\n{logs}");
    fs::remove_file(&wrapped).unwrap();
    let mut whole = Shell::start(&run, home, &paths);
    whole.ends(home, &place).await;

    // What the commands left behind, asked from the chain and the service that still run.
    let keys = place.join("keys");
    let terminal = Terminal::new(&keys, &place.join("config"))
        .with("CRTX_NETWORK", "local")
        .with("CRTX_RPC_URL", &format!("http://127.0.0.1:{}", ports.rpc()))
        .with("CRTX_URL", &format!("http://127.0.0.1:{api}"));
    let authority = terminal.as_wallet("authority.json");
    let said = |line: &[&str]| terminal.done(line);
    let treasury = said(&["wallet", "show", &address(&keys.join("treasury.json"))]);
    assert_eq!(treasury["usdc"], 0.0005, "one percent of the price: {treasury}");
    let answer: Value = serde_json::from_slice(&fs::read(place.join("answer.json")).unwrap()).unwrap();
    assert_eq!(answer["result"], "{\"words\":3,\"characters\":14}");
    assert_eq!(said(&["verify", "--file", "../answer.json"])["outcome"], "paid");

    // A second run of the script finds everything done: the wallets sign nothing, the processes go on, and the same
    // call is verified.
    let wallets = ["authority", "creator", "caller"].map(|name| address(&keys.join(format!("{name}.json"))));
    let signed = transactions(&wallets, ports.rpc()).await;
    let processes = ["api", "indexer", "worker", "agent"];
    let pids = || processes.map(|name| fs::read(place.join(format!("run/{name}.pid"))).unwrap());
    let running = pids();
    let mut again = Shell::start(&run, home, &paths);
    again.ends(home, &place).await;
    assert_eq!(transactions(&wallets, ports.rpc()).await, signed);
    assert_eq!(pids(), running);
    let unchanged: Value = serde_json::from_slice(&fs::read(place.join("answer.json")).unwrap()).unwrap();
    assert_eq!(unchanged, answer);
    let deployed = authority.done(&["admin", "deploy", "--yes"]);
    assert_eq!((&deployed["transaction"], &deployed["parts_sent"]), (&Value::Null, &json!(0)));
    for name in ["keys/authority.json", "secrets/database-url", "api-key"] {
        let mode = fs::metadata(place.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is for its owner alone");
    }

    // A node that does not answer the question for the configuration is not a chain without one.
    let no_node = "[ \"$1 $2\" != 'admin status' ] || set -- \"$@\" --rpc-url http://127.0.0.1:1";
    write_program(&wrapped, &format!("{no_node}\nexec '{real}' \"$@\""));
    let (ended, logs) = Shell::start(&run, home, &paths).status(home, &place).await;
    assert!(!ended.success() && logs.contains("deploy: crtx: no answer from the Solana RPC node"), "{ended}\n{logs}");
    assert_eq!(transactions(&wallets, ports.rpc()).await, signed);

    calls_at_once_share_transactions(&terminal, &format!("http://127.0.0.1:{api}"), ports.rpc()).await;

    // The same again is done already, and other values are named.
    let status = said(&["admin", "status"]);
    let line = init(&keys, status["usdc_mint"].as_str().unwrap());
    assert_eq!(authority.done(&with(&line, &["--yes"]))["transaction"], Value::Null);
    let refused = authority.refused(1, &with(&line, &["--fee-bps", "200", "--yes"]));
    assert!(refused.contains("fee: 100 basis points instead of 200") && !refused.contains("resolver"), "{refused}");
    let stranger = terminal.as_wallet("creator.json");
    let refused = stranger.refused(1, &with(&line, &["--yes"]));
    assert!(refused.contains("admin:") && refused.contains("set up already"), "{refused}");
    let again = authority.done(&["admin", "test-mint", "--usdc", "100", "--yes"]);
    assert_eq!(again["transaction"], Value::Null, "the wallet holds as much already");

    drop((again, whole, shell));
    cluster.stop().await.expect("PostgreSQL stops");
}

/// Caddy with the configuration of the repository, for a name whose certificate it makes itself.
fn caddy(home: &Path, [proxy, api, service]: [u16; 3]) -> Child {
    let site = fs::read_to_string(root().join("deploy/Caddyfile")).unwrap();
    let site = site.replace("crtx.example", &format!("localhost:{proxy}"));
    let site = site.replace(":8080", &format!(":{api}")).replace(":4021", &format!(":{service}"));
    let options = "{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n";
    fs::write(home.join("Caddyfile"), format!("{options}{site}")).unwrap();
    let log = fs::File::create(home.join("caddy.log")).unwrap();
    let mut command = Command::new("caddy");
    command.args(["run", "--config", "Caddyfile"]).current_dir(home).env("HOME", home).env("XDG_DATA_HOME", home);
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).kill_on_drop(true).spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_behind_tls_with_a_standby_and_a_bucket_ends_in_a_verified_call() {
    let Some(program) = validator::find("deploy behind TLS") else { return };
    if std::process::Command::new("caddy").arg("version").output().is_err() {
        eprintln!("deploy behind TLS: skipped, because there is no caddy");
        return;
    }
    let folder = crtx_e2e::folder();
    let (home, place) = (folder.path(), folder.path().join("crtx-deployment"));
    let cluster = PostgresCluster::start(home, &|text| eprintln!("{text}")).await.expect("PostgreSQL");
    let standby = Standby::of(&cluster).await.expect("the standby follows");
    let s3 = S3Server::start().await;
    let bucket = s3.settings();
    let [api, indexer, worker, service, proxy] = std::array::from_fn(|_| free_port().unwrap());
    let _caddy = caddy(home, [proxy, api, service]);

    let binaries = crtx_binary();
    let paths = [binaries.parent().unwrap()];
    let certificate = home.join("caddy/pki/authorities/local/root.crt");
    let certificate = certificate.display();
    let mut variables = format!(
        "export DEPLOY_SERVICES=background DEPLOY_FOLDER='{}' CRTX_NETWORK=local CRTX_URL=https://localhost:{proxy}\n\
         export DEPLOY_AGENT_URL=http://127.0.0.1:{service} DATABASE_URL='{}' DATABASE_STANDBY_URL='{}'\n\
         export DEPLOY_BUCKET={} DEPLOY_BUCKET_ENDPOINT={}\n\
         export DEPLOY_API_PORT={api} DEPLOY_INDEXER_PORT={indexer} DEPLOY_WORKER_PORT={worker}\n\
         export DEPLOY_AGENT_PORT={service} SSL_CERT_FILE='{certificate}' CURL_CA_BUNDLE='{certificate}'\n",
        place.display(),
        cluster.url(),
        standby.url(),
        bucket.name,
        bucket.endpoint.unwrap(),
    );
    Shell::start(&format!("{variables}deploy/devnet.sh keys"), home, &paths).ends(home, &place).await;
    let authority = place.join("keys/authority.json");
    let id = agent_marketplace::ID.to_string();
    let (elf, owner) = (root().join(ELF), address(&authority));
    let arguments = ["--mint", &owner, "--upgradeable-program", &id, elf.to_str().unwrap(), &owner];
    let validator = Validator::start(&program, home, &arguments).await.expect("starts");
    let (rpc, websocket) = (&validator.rpc_url, &validator.websocket_url);
    variables += &format!("export CRTX_RPC_URL={rpc} CRTX_RPC_WS_URL={websocket}\n");
    let run = format!("{variables}deploy/devnet.sh");
    // Without the key of the bucket nothing begins.
    let (ended, logs) = Shell::start(&run, home, &paths).status(home, &place).await;
    assert!(!ended.success() && logs.contains("the key of the bucket is wanted"), "{ended}\n{logs}");
    let (name, secret) = bucket.credentials.unwrap();
    fs::create_dir(place.join("secrets")).unwrap();
    fs::write(place.join("secrets/s3-access-key-id"), name).unwrap();
    fs::write(place.join("secrets/s3-secret-access-key"), secret).unwrap();
    let mut whole = Shell::start(&run, home, &paths);
    whole.ends(home, &place).await;

    let answer: Value = serde_json::from_slice(&fs::read(place.join("answer.json")).unwrap()).unwrap();
    let link = answer["ipfs_url"].as_str().unwrap();
    assert!(link.starts_with(&format!("https://localhost:{proxy}/")), "{link}");
    // The API reads from the standby, which has what was acknowledged.
    let clients = "backend_type = 'client backend' AND application_name <> 'psql'";
    let reads = format!("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE {clients})");
    standby.until(&reads).await.expect("the API reads there");
    let paid = "SELECT count(*) = 1 FROM executions WHERE state = 'completed'";
    standby.until(paid).await.expect("it has the call");
    // What was verified came from the bucket, through the proxy.
    assert!(!place.join("content").exists());
    let verify = format!("{variables}crtx verify --file \"$DEPLOY_FOLDER/answer.json\"");
    for (outage, is_fetched) in [(Outage::None, true), (Outage::Busy(u64::MAX), false)] {
        s3.fail(outage);
        let (ended, logs) = Shell::start(&verify, home, &paths).status(home, &place).await;
        assert!(ended.success(), "the saved bytes are proof enough: {logs}");
        assert_eq!(!logs.contains("its URL cannot be fetched"), is_fetched, "{logs}");
    }

    drop((whole, standby));
    cluster.stop().await.expect("PostgreSQL stops");
}

/// How many transactions name each wallet.
async fn transactions(wallets: &[String], rpc: u16) -> Vec<usize> {
    let (http, mut all) = (reqwest::Client::new(), Vec::new());
    for wallet in wallets {
        let params = json!([wallet, {"commitment": "confirmed"}]);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "getSignaturesForAddress", "params": params});
        let found = http.post(format!("http://127.0.0.1:{rpc}")).json(&body).send().await.unwrap();
        all.push(found.json::<Value>().await.unwrap()["result"].as_array().unwrap().len());
    }
    all
}

/// Agave has transactions of version 1: calls that come together are settled in some of them, and each is proved by itself.
/// The gateway settles alone what does not come together, and what a busy node does not simulate soon.
async fn calls_at_once_share_transactions(terminal: &Terminal, api: &str, rpc: u16) {
    const CALLS: usize = 10;
    const MOST: usize = 5 * CALLS;
    let caller = terminal.as_wallet("caller.json");
    let made = caller.sent(&["key", "create", "many", "--per-call", "0.10", "--total", "5"]);
    let http = reqwest::Client::new();
    let agents: Value = http.get(format!("{api}/v1/agents")).send().await.unwrap().json().await.unwrap();
    let url = format!("{api}/v1/agents/{}/execute", agents["agents"][0]["agent_id"].as_str().unwrap());
    let mut versions = Vec::new();
    while !versions.contains(&json!(1)) {
        assert!(versions.len() < MOST, "{versions:?}");
        let calls = (0..CALLS).map(|number| {
            let body = json!({"task": format!("Call number {}.", versions.len() + number)});
            let request = http.post(&url).bearer_auth(made["api_key"].as_str().unwrap()).json(&body);
            async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
        });
        for answer in futures::future::join_all(calls).await {
            assert_eq!(answer["status"], "completed", "{answer}");
            let report = caller.done(&["verify", answer["execution_id"].as_str().unwrap()]);
            assert_eq!(report["outcome"], "paid", "{report}");
            let config = json!({"encoding": "json", "commitment": "confirmed", "maxSupportedTransactionVersion": 1});
            let params = json!([report["settling_transaction"], config]);
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "getTransaction", "params": params});
            let found = http.post(format!("http://127.0.0.1:{rpc}")).json(&body).send().await.unwrap();
            versions.push(found.json::<Value>().await.unwrap()["result"]["version"].clone());
        }
    }
}

/// An account as the validator loads it.
fn account_file(folder: &Path, address: &Pubkey, owner: &str, data: &[u8]) -> String {
    let account = json!({
        "pubkey": address.to_string(),
        "account": {
            "lamports": 10_000_000, "data": [BASE64.encode(data), "base64"], "owner": owner, "executable": false,
            "rentEpoch": u64::MAX, "space": data.len(),
        },
    });
    let path = folder.join(format!("{address}.json"));
    fs::write(&path, account.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn mint(decimals: u8) -> Vec<u8> {
    let mut data = vec![0; 82];
    (data[44], data[45]) = (decimals, 1);
    data
}

#[tokio::test(flavor = "multi_thread")]
async fn admin_init_refuses_what_is_wrong_and_is_done_once_however_often_it_is_killed() {
    const TOKEN: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
    const TOKEN_2022: &str = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
    let Some(program) = validator::find("deploy") else { return };
    let folder = crtx_e2e::folder();
    let place = folder.path();
    let terminal = Terminal::new(place, &place.join("config"));
    for name in [&ROLES[..], &["authority", "stranger", "genesis"]].concat() {
        terminal.done(&["wallet", "new", "--out", &format!("{name}.json")]);
    }
    let (authority, genesis) = (address(&place.join("authority.json")), address(&place.join("genesis.json")));

    // The program with room behind it and one byte that is not of it, two more programs, and four mints.
    let elf = root().join(ELF);
    let changed = place.join("changed.so");
    fs::write(&changed, [fs::read(&elf).unwrap(), vec![0, 0, 1]].concat()).unwrap();
    let (elf, changed) = (elf.to_str().unwrap(), changed.to_str().unwrap());
    let id = agent_marketplace::ID.to_string();
    let [immutable, moved, absent, usdc, nine, new] = [1, 2, 3, 4, 5, 6].map(|byte| Pubkey::new_from_array([byte; 32]));
    let accounts = [(usdc, TOKEN, 6), (nine, TOKEN, 9), (new, TOKEN_2022, 6)];
    let accounts = accounts
        .map(|(mint_of, owner, decimals)| (mint_of.to_string(), account_file(place, &mint_of, owner, &mint(decimals))));
    let (immutable, moved, absent) = (immutable.to_string(), moved.to_string(), absent.to_string());
    let mut arguments = vec!["--mint", &genesis, "--upgradeable-program", &id, changed, &authority];
    arguments.extend(["--upgradeable-program", &immutable, elf, "none"]);
    arguments.extend(["--upgradeable-program", &moved, elf, &authority]);
    accounts.iter().for_each(|(address, file)| arguments.extend(["--account", address, file]));
    let validator = Validator::start(&program, place, &arguments).await.expect("starts");
    let terminal = terminal.with("CRTX_RPC_URL", &validator.rpc_url).with("CRTX_NETWORK", "local");
    let by = |name: &str| terminal.as_wallet(&format!("{name}.json"));

    let mint_text = |mint: Pubkey| mint.to_string();
    let line = init(place, &mint_text(usdc));
    let code = "--allow-other-code";
    // As `solana-verify` prints it: the code ends with a byte that is not zero.
    let hash = ResultHash::of(&fs::read(changed).unwrap()).to_string();
    let by_hash = ["--code-hash", hash.strip_prefix("sha256:").unwrap()];
    let twice = [line.clone(), vec!["--admin".to_owned(), address(&place.join("resolver.json"))]].concat();
    for (name, line, more, status, says) in [
        ("stranger", &line, &[code, "--yes"][..], 1, "only the upgrade authority"),
        ("authority", &line, &["--yes"], 1, "--allow-other-code"),
        ("authority", &line, &["--code-hash", &"0".repeat(64), "--yes"], 1, "instead of 0000"),
        ("authority", &line, &["--code-hash", "0", "--yes"], 2, "64 lower-case"),
        ("authority", &line, &["--program-id", &immutable, "--yes"], 1, "no upgrade authority any more"),
        ("authority", &line, &["--program-id", &moved, code, "--yes"], 1, "works only at the address"),
        ("authority", &line, &["--program-id", &absent, code, "--yes"], 1, "there is no program"),
        ("authority", &line, &["--program-id", &mint_text(usdc), code, "--yes"], 2, "USDC mint and the program"),
        ("authority", &line, &["--program-id", &genesis, code, "--yes"], 1, "no program of the upgradeable loader"),
        ("authority", &init(place, &mint_text(nine)), &[code, "--yes"], 1, "9 decimals"),
        ("authority", &init(place, &mint_text(new)), &[code, "--yes"], 1, "Token-2022"),
        ("authority", &init(place, &absent), &[code, "--yes"], 1, "no mint"),
        ("authority", &line, &[code, "--yes"], 1, "holds 0 SOL"),
        ("authority", &line, &[code], 2, "--yes"),
        ("authority", &line, &[code, "--fee-bps", "501", "--yes"], 2, "parameters"),
        ("authority", &twice, &[code, "--yes"], 2, "the admin and the resolver are the same address"),
        ("authority", &line, &[code, "--network", "devnet", "--yes"], 1, "does not belong to devnet"),
    ] {
        let refused = by(name).refused(status, &with(line, more));
        assert!(refused.contains(says), "{more:?}: {refused}");
        assert!(refused.starts_with("crtx: ") || status == 1, "{refused}");
    }
    let config = json!([config_address(), {"encoding": "base64", "commitment": "processed"}]);
    let found = validator.ask("getAccountInfo", config.clone()).await.unwrap();
    assert_eq!(found["value"], Value::Null, "nothing was made");

    // Scripts tell a chain without a marketplace from a node that says nothing.
    assert!(by("authority").refused(3, &["admin", "status"]).contains("no marketplace"));
    by("authority").refused(1, &["admin", "status", "--rpc-url", "http://127.0.0.1:1"]);

    // Killed at ever later moments, until one run ends by itself; the last run says the truth.
    validator.airdrop(&authority, 5).await.unwrap();
    let whole = with(&line, &[&by_hash[..], &["--json", "--yes"]].concat());
    let mut killed = 0;
    for pause in (0..).map(|step| Duration::from_millis(20 + step * 60)) {
        let mut command = by("authority").command(&whole);
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(pause).await;
        if let Some(status) = process.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            break;
        }
        process.kill().unwrap();
        process.wait().unwrap();
        killed += 1;
    }
    assert!(killed > 0);
    let done = by("authority").done(&with(&line, &[&by_hash[..], &["--yes"]].concat()));
    assert_eq!((&done["transaction"], &done["admin"]), (&Value::Null, &json!(authority)));
    let found = validator.ask("getAccountInfo", config).await.unwrap();
    assert_eq!(found["value"]["owner"], id);
    for owner in ["treasury", "insurance"] {
        let shown = terminal.done(&["wallet", "show", &address(&place.join(format!("{owner}.json")))]);
        assert!(shown["usdc_account"].is_string(), "{shown}");
    }
    let status = terminal.done(&["admin", "status"]);
    assert_eq!(status["parameters"]["fee_bps"], 100);
    assert_eq!(status["resolver"], address(&place.join("resolver.json")));
}

fn config_address() -> String {
    crtx_protocol::address::Addresses::new(agent_marketplace::ID).config().to_string()
}

/// What every unit has.
const HARDENING: [&str; 8] = [
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=",
    "ProtectSystem=strict",
    "PrivateTmp=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
    "SystemCallFilter=@system-service",
    "Restart=always",
    "Type=exec",
];

#[test]
fn systemd_takes_the_units_and_each_is_confined() {
    let folder = crtx_e2e::folder();
    let units = root().join("deploy/systemd");
    let has_systemd = std::process::Command::new("systemd-analyze").arg("--version").output().is_ok();
    for (unit, instance, program) in [
        ("crtx-server@.service", "crtx-server@api.service", "ExecStart=crtx-server"),
        ("crtx-agent.service", "crtx-agent.service", "ExecStart=/usr/bin/node"),
    ] {
        let text = fs::read_to_string(units.join(unit)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        HARDENING.iter().for_each(|line| assert!(lines.contains(line), "{unit} has {line}"));
        assert!(lines.iter().any(|line| line.starts_with("User=") || *line == "DynamicUser=yes"), "{unit} is not root");
        // The program is not installed here.
        let here = folder.path().join(instance);
        assert!(text.contains(program));
        fs::write(&here, text.replace(program, "ExecStart=/bin/true")).unwrap();
        if has_systemd {
            if unit.contains('@') {
                let more = folder.path().join(format!("{instance}.d"));
                fs::create_dir(&more).unwrap();
                for part in ["gateway.conf", "bucket.conf", "standby.conf"] {
                    fs::copy(units.join(part), more.join(part)).unwrap();
                }
            }
            let output = std::process::Command::new("systemd-analyze").arg("verify").arg(&here).output().unwrap();
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(output.status.success() && said.is_empty(), "{unit}: {said}");
        }
    }
}

#[test]
fn containers_are_confined_as_well() {
    let read = |path: &str| fs::read_to_string(root().join("deploy").join(path)).unwrap();
    for (path, lines) in [
        ("container/build.sh", &[r#""config":{"User":"65532:65532","#][..]),
        (
            "compose.yaml",
            &[
                "  read_only: true",
                "  cap_drop: [ALL]",
                r#"  security_opt: ["no-new-privileges:true"]"#,
                "  healthcheck:",
            ],
        ),
        (
            "helm/crtx/templates/deployments.yaml",
            &[
                "        runAsNonRoot: true",
                "        seccompProfile: {type: RuntimeDefault}",
                "            allowPrivilegeEscalation: false",
                "            readOnlyRootFilesystem: true",
                "            capabilities: {drop: [ALL]}",
                "            httpGet: {path: /healthz, port: http}",
                "            httpGet: {path: /readyz, port: http}",
            ],
        ),
    ] {
        let text = read(path);
        for wanted in lines {
            assert!(text.lines().any(|line| line.starts_with(wanted)), "{path} has {wanted}");
        }
    }
    // The services of the file take all of it; the others are not ours.
    assert_eq!(read("compose.yaml").matches("    <<: *service\n").count(), 3);
    // A version has one name everywhere.
    let version = env!("CARGO_PKG_VERSION");
    for (path, wanted) in [
        ("compose.yaml", format!("crtx-server:{version}}}")),
        ("helm/crtx/Chart.yaml", format!("\nappVersion: {version}\n")),
        ("helm/crtx/Chart.yaml", format!("\nversion: {version}\n")),
    ] {
        assert!(read(path).contains(&wanted), "{path} has {wanted}");
    }
}
