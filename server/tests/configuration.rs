//! Settings from file, environment and flags: what wins, what is refused, what is never printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use crtx_content::ContentLocation;
use crtx_server::{
    Role,
    config::{self, Loaded, Problems, load, resolve},
};
use solana_keypair::Keypair;

const MINT: &str = "So11111111111111111111111111111111111111112";
const PASSWORD: &str = "hunter2";

struct Case {
    folder: tempfile::TempDir,
    file: Option<PathBuf>,
    environment: HashMap<String, String>,
    flags: Vec<(String, String)>,
}

impl Case {
    /// Nothing is set.
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // An empty file: the working directory's own `crtx.toml` must not count.
        let file = folder.path().join("empty.toml");
        fs::write(&file, "").unwrap();
        Self { file: Some(file), folder, environment: HashMap::new(), flags: Vec::new() }
    }

    /// Everything that all roles need.
    fn complete() -> Self {
        let keypair = serde_json::to_string(&Keypair::new().to_bytes().to_vec()).unwrap();
        Self::empty()
            .variable("CRTX_NETWORK", "local")
            .variable("CRTX_DATABASE_URL", &format!("postgres://crtx:{PASSWORD}@127.0.0.1/crtx"))
            .variable("CRTX_RPC_URLS", "http://127.0.0.1:8899")
            .variable("CRTX_RPC_WS_URL", "ws://127.0.0.1:8900")
            .variable("CRTX_PROGRAM_USDC_MINT", MINT)
            .variable("CRTX_CONTENT_DIR", "/tmp/content")
            .variable("CRTX_GATEWAY_KEYPAIR", &keypair)
    }

    fn file(mut self, text: &str) -> Self {
        let path = self.folder.path().join("crtx.toml");
        fs::write(&path, text).unwrap();
        self.file = Some(path);
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.environment.remove(name);
        self
    }

    fn flag(mut self, name: &str, value: &str) -> Self {
        self.flags.push((name.to_owned(), value.to_owned()));
        self
    }

    fn load(&self) -> Result<Loaded, Problems> {
        let environment = |name: &str| self.environment.get(name).cloned();
        load(self.file.as_deref(), &environment, &self.flags)
    }

    fn resolve(&self) -> Result<config::Resolved, Problems> {
        resolve(&self.load()?)
    }

    /// All problems, one per line.
    fn problems(&self) -> Vec<String> {
        let problems = self.resolve().err().expect("there are problems");
        assert!(!problems.to_string().contains(PASSWORD), "{problems}");
        problems.0.iter().map(ToString::to_string).collect()
    }
}

fn in_force(loaded: &Loaded, key: &str) -> (String, String) {
    let row = loaded.in_force().into_iter().find(|(name, ..)| name == key).expect(key);
    (row.1, row.2)
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let case = Case::empty().file("listen = \"127.0.0.1:1\"\nlog = \"debug\"\n[database]\nconnections = 9\n");
    let loaded = case.load().unwrap();
    assert_eq!(in_force(&loaded, "listen").0, "127.0.0.1:1");
    assert!(in_force(&loaded, "listen").1.ends_with("crtx.toml"));
    assert_eq!(in_force(&loaded, "indexer.audit_seconds"), ("600".to_owned(), "default".to_owned()));
    let case = case.variable("CRTX_LISTEN", "127.0.0.1:2").variable("CRTX_DATABASE_CONNECTIONS", "10");
    let case = case.flag("listen", "127.0.0.1:3");
    let loaded = case.load().unwrap();
    assert_eq!(in_force(&loaded, "listen"), ("127.0.0.1:3".to_owned(), "flag: --listen".to_owned()));
    let connections = in_force(&loaded, "database.connections");
    assert_eq!(connections, ("10".to_owned(), "environment: CRTX_DATABASE_CONNECTIONS".to_owned()));
    assert_eq!(in_force(&loaded, "log").0, "debug");
}

#[test]
fn every_problem_is_named_at_once_with_its_source() {
    let case = Case::complete()
        .file("network = \"moon\"\nlisten = \"nowhere\"\nlissten = \"127.0.0.1:1\"\n[indexer]\nresync_seconds = 0\n")
        .without("CRTX_NETWORK")
        .variable("CRTX_DATABASE_CONNECTIONS", "many")
        .variable("CRTX_OUTBOUND_PORTS", "443,http")
        .flag("role", "api,boss");
    let problems = case.problems();
    let about = |key: &str| problems.iter().find(|line| line.starts_with(&format!("{key} ("))).cloned().expect(key);
    assert!(about("network").contains("crtx.toml") && about("network").contains("`local`"), "{problems:?}");
    assert!(about("listen").contains("crtx.toml"), "{problems:?}");
    assert!(about("lissten").contains("no such setting"), "{problems:?}");
    assert!(about("indexer.resync_seconds").contains("0 is below 1"), "{problems:?}");
    assert!(about("database.connections").contains("CRTX_DATABASE_CONNECTIONS"), "{problems:?}");
    assert!(about("database.connections").contains("\"many\""), "{problems:?}");
    assert!(about("outbound.ports").contains("CRTX_OUTBOUND_PORTS"), "{problems:?}");
    assert!(about("role").contains("flag: --role") && about("role").contains("boss"), "{problems:?}");
    assert_eq!(problems.len(), 7, "{problems:#?}");
}

#[test]
fn what_a_role_needs_and_nobody_set_is_a_problem_of_its_own() {
    let problems = Case::empty().flag("role", "api,indexer,worker").problems();
    let needed =
        ["network", "database.url", "rpc.urls", "rpc.ws_url", "program.usdc_mint", "content.dir", "gateway.keypair"];
    for key in needed {
        assert!(problems.iter().any(|line| line.starts_with(&format!("{key}: it is not set"))), "{key}: {problems:#?}");
    }
    let indexer = Case::complete()
        .without("CRTX_GATEWAY_KEYPAIR")
        .without("CRTX_PROGRAM_USDC_MINT")
        .without("CRTX_CONTENT_DIR")
        .flag("role", "indexer");
    let resolved = indexer.resolve().expect("an indexer needs no key pair");
    assert!(resolved.service.roles.contains(&Role::Indexer) && !resolved.service.roles.contains(&Role::Api));
    let worker = Case::complete().without("CRTX_RPC_WS_URL").flag("role", "worker");
    assert!(worker.resolve().is_ok(), "a worker needs no stream of changes");
    assert!(Case::complete().file("role = []").problems()[0].contains("no role is named"));
}

#[test]
fn content_is_in_a_folder_or_in_a_bucket_whose_key_is_never_printed() {
    let bucket = || {
        Case::complete()
            .without("CRTX_CONTENT_DIR")
            .variable("CRTX_CONTENT_S3_BUCKET", "content")
            .variable("CRTX_CONTENT_S3_ENDPOINT", "http://127.0.0.1:9000")
    };
    let with_key = bucket()
        .variable("CRTX_CONTENT_S3_ACCESS_KEY_ID", "hunter1")
        .variable("CRTX_CONTENT_S3_SECRET_ACCESS_KEY", "hunter2");
    let service = with_key.resolve().expect("resolved").service;
    let (gateway, indexer) = (service.gateway.expect("a gateway"), service.indexer.expect("an indexer"));
    assert!(matches!(gateway.content, ContentLocation::Bucket(_)));
    assert!(matches!(indexer.content.store, Some(ContentLocation::Bucket(_))));
    let shown = format!("{:?} {:?} {:?}", gateway.content, indexer, with_key.load().unwrap());
    assert!(!shown.contains("hunter"), "{shown}");

    let problems = bucket().variable("CRTX_CONTENT_DIR", "/tmp/content").problems();
    assert!(problems[0].contains("in a folder or in a bucket"), "{problems:?}");
    let problems = bucket().variable("CRTX_CONTENT_S3_ACCESS_KEY_ID", "hunter1").problems();
    assert!(problems[0].contains("an access key and its secret are set together"), "{problems:?}");
}

#[test]
fn every_websocket_belongs_to_an_rpc_node() {
    let urls = "http://127.0.0.1:1,http://127.0.0.1:2";
    let two = Case::complete().variable("CRTX_RPC_URLS", urls).variable("CRTX_RPC_WS_URL", "ws://h:1, ws://h:2");
    assert_eq!(two.resolve().expect("resolved").service.indexer.expect("an indexer").ws_url, "ws://h:1,ws://h:2");
    let problems = Case::complete().variable("CRTX_RPC_WS_URL", "ws://h:1,ws://h:2,ws://h:3").problems();
    assert!(problems.iter().any(|line| line.contains("more URLs than `rpc.urls`")), "{problems:?}");
}

#[test]
fn a_yellowstone_server_and_its_token_are_secrets() {
    let case = Case::complete()
        .variable("CRTX_RPC_YELLOWSTONE_URL", "https://grpc.example/hunter2")
        .variable("CRTX_RPC_YELLOWSTONE_TOKEN", "hunter2");
    let indexer = case.resolve().expect("resolved").service.indexer.expect("an indexer");
    assert_eq!(indexer.yellowstone.as_ref().expect("an address").token.as_deref(), Some("hunter2"));
    assert!(!format!("{indexer:?}").contains("hunter2") && !format!("{:?}", case.load().unwrap()).contains("hunter2"));
}

#[test]
fn secrets_are_read_from_files_and_never_printed() {
    let case = Case::complete().without("CRTX_DATABASE_URL");
    let path = case.folder.path().join("url");
    fs::write(&path, format!("postgres://crtx:{PASSWORD}@127.0.0.1/crtx\n")).unwrap();
    let case = case.variable("CRTX_DATABASE_URL_FILE", path.to_str().unwrap());
    let loaded = case.load().unwrap();
    let (shown, source) = in_force(&loaded, "database.url");
    assert_eq!(shown, "(secret)");
    assert!(source.contains("CRTX_DATABASE_URL_FILE"), "{source}");
    assert!(!format!("{loaded:?}").contains(PASSWORD));
    let resolved = case.resolve().unwrap();
    assert!(resolved.database_url.reveal().0.contains(PASSWORD), "the service itself reads it");
}

#[test]
fn a_secret_file_is_relative_to_the_configuration_file() {
    let case = Case::complete().without("CRTX_DATABASE_URL");
    fs::write(case.folder.path().join("url"), "postgres://127.0.0.1/crtx").unwrap();
    let case = case.file("database.url_file = \"url\"\n");
    assert!(case.resolve().is_ok());
}

#[test]
fn a_bad_secret_is_named_and_not_shown() {
    let case = Case::complete()
        .variable("CRTX_DATABASE_URL", &format!("mysql://{PASSWORD}@h/d"))
        .variable("CRTX_RPC_URLS", &format!("ftp://{PASSWORD}.example"))
        .variable("CRTX_GATEWAY_KEYPAIR", PASSWORD);
    let problems = case.problems();
    assert_eq!(problems.len(), 3, "{problems:#?}");
    assert!(problems.iter().all(|line| line.contains("environment: CRTX_")), "{problems:#?}");
    let case = Case::complete().file(&format!("database.url = [\"{PASSWORD}\"]\n")).without("CRTX_DATABASE_URL");
    assert_eq!(case.problems().len(), 1);
    let case = Case::complete().file(&format!("database.url = {PASSWORD}\n")).without("CRTX_DATABASE_URL");
    assert!(case.problems()[0].contains("line 1"), "{:?}", case.problems());
}

#[test]
fn a_secret_that_is_set_twice_in_one_place_is_refused() {
    let case = Case::complete().variable("CRTX_DATABASE_URL_FILE", "/run/url");
    assert!(case.problems()[0].contains("as a value and as a file"), "{:?}", case.problems());
}

#[test]
fn variables_of_other_tools_count_if_ours_are_not_set() {
    let case = Case::complete().variable("DATABASE_URL", "postgres://other/db").variable("RUST_LOG", "trace");
    let resolved = case.resolve().unwrap();
    assert!(resolved.database_url.reveal().0.contains("crtx"), "ours wins");
    assert_eq!(in_force(&case.load().unwrap(), "log"), ("trace".to_owned(), "environment: RUST_LOG".to_owned()));
    let resolved = case.without("CRTX_DATABASE_URL").resolve().unwrap();
    assert_eq!(resolved.database_url.reveal().0, "postgres://other/db");
}

#[test]
fn the_public_url_is_needed_where_clients_come_from_elsewhere() {
    let case = Case::complete().variable("CRTX_NETWORK", "mainnet");
    assert!(case.problems()[0].starts_with("public_url: it is not set"), "{:?}", case.problems());
    assert!(case.variable("CRTX_PUBLIC_URL", "https://api.example/").resolve().is_ok());
    assert!(Case::complete().resolve().is_ok(), "on `local` it follows from the address");
}

#[test]
fn a_file_that_is_named_and_missing_is_a_problem() {
    let mut case = Case::complete();
    case.file = Some(case.folder.path().join("missing.toml"));
    assert!(case.problems()[0].contains("missing.toml"), "{:?}", case.problems());
}

#[test]
fn an_explorer_url_has_a_place_for_the_address() {
    let case = Case::complete().variable("CRTX_EXPLORER_URL", "https://e.example/");
    assert!(case.problems()[0].starts_with("explorer_url (environment: CRTX_EXPLORER_URL)"), "{:?}", case.problems());
}

#[test]
fn only_the_proxies_that_are_listed_are_trusted() {
    let trusted = |case: &Case| case.resolve().expect("good").service.trusted_proxies;
    let address = |text: &str| text.parse().unwrap();
    assert!(!trusted(&Case::complete()).contains(address("127.0.0.1")), "nobody by default");
    let case = Case::complete().variable("CRTX_TRUSTED_PROXIES", "10.0.0.0/8, 2001:db8::1");
    let proxies = trusted(&case);
    assert!(proxies.contains(address("10.1.2.3")) && proxies.contains(address("2001:db8::1")));
    assert!(!proxies.contains(address("11.0.0.1")) && !proxies.contains(address("2001:db8::2")));
    let case = Case::complete().file("trusted_proxies = [\"192.0.2.1\"]");
    assert!(trusted(&case).contains(address("192.0.2.1")));
    let problems = Case::complete().variable("CRTX_TRUSTED_PROXIES", "10.0.0.0/33").problems();
    assert!(problems.iter().any(|problem| problem.contains("CRTX_TRUSTED_PROXIES")), "{problems:?}");
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Nothing compiles these files, and the process ignores a variable that it does not know.
#[test]
fn every_setting_that_a_deployment_names_exists() {
    let (deploy, settings) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy"), config::settings());
    let variables = settings.iter().map(config::Setting::variable);
    let files = settings.iter().filter(|setting| setting.secret).map(|setting| setting.variable() + "_FILE");
    let variables: Vec<String> = variables.chain(files).collect();
    let is_in_a_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let mut named = 0;
    for path in files_below(&deploy) {
        // It sets variables of `crtx` as well, and a test runs it.
        if path.ends_with("devnet.sh") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for word in text.split(|c| !is_in_a_name(c)).filter(|word| word.starts_with("CRTX_")) {
            assert!(variables.iter().any(|known| known == word), "{}: {word}", path.display());
            named += 1;
        }
    }
    assert!(named > 30, "{named}");

    // The package's file, with its examples.
    let text = fs::read_to_string(deploy.join("debian/crtx.toml")).unwrap();
    let example =
        |line: &str| line.split_once(" = ").is_some_and(|(key, _)| !key.trim_start_matches("# ").contains(' '));
    let lines = text.lines().map(|line| if example(line) { line.trim_start_matches("# ") } else { line });
    let case = Case::complete().file(&lines.collect::<Vec<_>>().join("\n"));
    let loaded = case.without("CRTX_NETWORK").without("CRTX_PROGRAM_USDC_MINT").load().unwrap();
    assert_eq!(in_force(&loaded, "network").0, "devnet");
    assert_eq!(in_force(&loaded, "trusted_proxies").0, "127.0.0.1");
}
