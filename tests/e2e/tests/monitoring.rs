//! What operators see (`deploy/monitoring`, `docs/runbooks`), over services whose faults are real: a Prometheus reads their
//! `/metrics` and evaluates the rules, and the commands of each runbook run while its alert fires.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use agent_marketplace::instructions::OpenDisputeArgs;
use crtx_e2e::{
    Up, chain::Chain, crtx_binary, free_port, market::Market, server::Server, session::Session, shell_commands,
};
use crtx_store::{PgPool, testing::tampering::tamper};
use reqwest::Method;
use serde_json::{Value, json};
use solana_signer::Signer;
use tempfile::TempDir;
use tokio::process::{Child, Command};

const RULES: &str = include_str!("../../../deploy/monitoring/alerts.yml");
const SCRAPING: &str = include_str!("../../../deploy/monitoring/prometheus.yml");
const DASHBOARD: &str = include_str!("../../../deploy/monitoring/dashboard.json");
const ROLES: [&str; 3] = ["api", "indexer", "worker"];
const LIMIT: Duration = Duration::from_secs(180);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A marketplace with a process for each role, which all serve `/metrics`.
struct Watched {
    servers: BTreeMap<&'static str, Server>,
    targets: BTreeMap<&'static str, String>,
    up: Up,
    folder: TempDir,
}

impl Watched {
    async fn start() -> Self {
        let folder = crtx_e2e::folder();
        let data = folder.path().join("data");
        // A call that hangs is overdue 25 s after its opening.
        let flags = ["up", "--json", "--services", "none", "--settle-grace", "20s", "--data-dir"];
        let up = Up::start_with(&[&flags[..], &[data.to_str().unwrap()]].concat()).await.unwrap();
        let target = |role| (role, format!("127.0.0.1:{}", free_port().unwrap()));
        let targets = ROLES.into_iter().map(target).collect();
        let mut watched = Self { servers: BTreeMap::new(), targets, up, folder };
        for role in ["indexer", "worker", "api"] {
            watched.begin(role).await;
        }
        crtx_e2e::server::until_listed(&watched.market(), &watched.market().agent("text-stats")).await;
        watched
    }

    /// Starts the process of a role, and waits until it is ready.
    async fn begin(&mut self, role: &'static str) {
        let mut config = fs::read_to_string(&self.up.info().server_config).unwrap();
        config.push_str(&format!("\n[metrics]\nlisten = \"{}\"\n\n[indexer]\naudit_seconds = 5\n", self.targets[role]));
        let path = self.folder.path().join(format!("{role}.toml"));
        fs::write(&path, config).unwrap();
        let mut server = Server::start_with(&path, self.folder.path(), role, role).unwrap();
        server.until_readyz_is(200).await.unwrap();
        self.servers.insert(role, server);
    }

    async fn kill(&mut self, role: &str) {
        self.servers.remove(role).unwrap().kill().await.unwrap();
    }

    fn market(&self) -> Market {
        self.servers["api"].market(self.up.info())
    }

    async fn metrics(&self) -> String {
        let mut all = String::new();
        for target in self.targets.values() {
            all += &reqwest::get(format!("http://{target}/metrics")).await.unwrap().text().await.unwrap();
        }
        all
    }
}

/// The names of our metrics in a text, as rules name them.
fn metric_names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("crtx_")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_of_the_rules_and_of_the_dashboard_is_served() {
    let watched = Watched::start().await;
    watched.market().paid().await;
    let wanted: BTreeSet<_> = metric_names(RULES).into_iter().chain(metric_names(DASHBOARD)).collect();
    assert!(wanted.len() > 30, "{wanted:?}");
    let panels: Value = serde_json::from_str(DASHBOARD).unwrap();
    for panel in panels["panels"].as_array().unwrap() {
        let queries = panel["targets"].as_array().unwrap().iter().map(|target| target["expr"].as_str().unwrap());
        let of_prometheus = |query: &str| query.contains("ALERTS") || query.contains("up{");
        assert!(queries.into_iter().all(|it| !metric_names(it).is_empty() || of_prometheus(it)), "{panel}");
    }
    let started = Instant::now();
    loop {
        let served = watched.metrics().await;
        let served = metric_names(&served);
        let missing: Vec<_> = wanted.difference(&served).collect();
        if missing.is_empty() {
            return;
        }
        // Some are there after the first audit, and the first look at the fee payer.
        assert!(started.elapsed() < LIMIT, "nobody serves {missing:?}: {served:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// A Prometheus with our rules. It is killed when dropped.
struct Prometheus {
    _process: Child,
    url: String,
}

/// Replaces a text that has to be there.
fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "`{old}` is in {text}");
    text.replace(old, new)
}

impl Prometheus {
    /// With times that a test can wait for. The conditions are as they are, but for the ages of a dispute and of an event.
    async fn start(folder: &Path, targets: &BTreeMap<&str, String>) -> Self {
        let rules: String = RULES
            .lines()
            .map(|line| match line.split_once("for: ") {
                Some((before, _)) => format!("{before}for: 1s\n"),
                None => format!("{line}\n"),
            })
            .collect();
        let rules =
            replaced(&replaced(&rules, "48 * 3600", "5"), "waiting_age_seconds) > 60", "waiting_age_seconds) > 5");
        fs::write(folder.join("alerts.yml"), rules).unwrap();
        let documented = "targets: [\"127.0.0.1:9464\", \"127.0.0.1:9465\", \"127.0.0.1:9466\"]";
        let here = format!("targets: {:?}", targets.values().collect::<Vec<_>>());
        let config = replaced(SCRAPING, documented, &here);
        // Without a database a process answers after 3 s.
        let config = replaced(&config, "scrape_interval: 15s", "scrape_interval: 4s");
        let config = replaced(&config, "evaluation_interval: 15s", "evaluation_interval: 1s");
        fs::write(folder.join("prometheus.yml"), config).unwrap();
        let listen = format!("127.0.0.1:{}", free_port().unwrap());
        let process = Command::new("prometheus")
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=prometheus"])
            .arg(format!("--web.listen-address={listen}"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("prometheus.log")).unwrap())
            .kill_on_drop(true)
            .spawn()
            .expect("prometheus runs");
        Self { _process: process, url: format!("http://{listen}") }
    }

    async fn ask(&self, path: &str) -> Option<Value> {
        reqwest::get(format!("{}/api/v1/{path}", self.url)).await.ok()?.json().await.ok()
    }

    async fn firing(&self) -> BTreeSet<String> {
        let alerts = self.ask("alerts").await.unwrap_or_default();
        let alerts = alerts["data"]["alerts"].as_array().cloned().unwrap_or_default();
        let firing = alerts.iter().filter(|alert| alert["state"] == "firing");
        firing.map(|alert| alert["labels"]["alertname"].as_str().unwrap().to_owned()).collect()
    }

    async fn until_up(&self, processes: &str) {
        let started = Instant::now();
        loop {
            let answer = self.ask("query?query=sum(up)").await.unwrap_or_default();
            if answer["data"]["result"][0]["value"][1] == processes {
                return;
            }
            assert!(started.elapsed() < LIMIT, "{processes} processes answer Prometheus: {answer}");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Waits until the alert fires, or does not any more.
    async fn until(&self, alert: &str, fires: bool) {
        let started = Instant::now();
        while self.firing().await.contains(alert) != fires {
            let rules = self.ask("rules").await;
            assert!(started.elapsed() < LIMIT, "{alert} fires: {fires}? {:?} {rules:?}", self.firing().await);
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        eprintln!("{alert} fires: {fires}, after {:?}", started.elapsed());
    }
}

/// The page that the alert names.
fn runbook(alert: &str) -> String {
    let rule = RULES.split_once(&format!("- alert: {alert}\n")).expect("the alert is there").1;
    let page = rule.split_once("runbook: ").unwrap().1.lines().next().unwrap();
    fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// Runs the commands of an alert's runbook, as somebody with this wallet. On a busy machine one of them can be too late, as for
/// everybody, so there are three attempts.
async fn follow(alert: &str, wallet: &str, watched: &Watched, prometheus: &Prometheus, api: &str) {
    let info = watched.up.info();
    let script = shell_commands(&runbook(alert));
    assert!(!script.is_empty(), "the runbook of {alert} has commands");
    let mut path = vec![crtx_binary().parent().unwrap().to_path_buf()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut command = crtx_e2e::without_settings("bash", &crtx_e2e::config_dir(info.data_dir()));
    command.args(["-euxo", "pipefail", "-c", &script]);
    command.env("PATH", std::env::join_paths(path).unwrap());
    command.env("CRTX_NETWORK", "local").env("CRTX_URL", api).env("CRTX_RPC_URL", &info.rpc_url);
    command.env("CRTX_KEYPAIR", info.data_dir().join(format!("wallets/{wallet}.json")));
    command.env("DATABASE_URL", &info.database_url).env("PROMETHEUS_URL", &prometheus.url);
    for attempt in 1.. {
        let output = command.output().expect("bash runs");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        eprintln!("--- {alert}\n{said}");
        if output.status.success() {
            return;
        }
        assert!(attempt < 3, "the runbook of {alert}: {}", output.status);
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

/// Whether this machine has what the test needs; if not, a message that is not captured.
fn has_programs() -> bool {
    let runs = |name: &&str| std::process::Command::new(name).arg("--version").output().is_ok();
    let missing: Vec<_> = ["prometheus", "promtool", "psql", "curl"].into_iter().filter(|name| !runs(name)).collect();
    if !missing.is_empty() {
        let text = format!("monitoring: skipped, because there is no {}\n", missing.join(" and no "));
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    missing.is_empty()
}

#[test]
fn the_rules_fire_when_they_should_and_not_before() {
    if !has_programs() {
        return;
    }
    let folder = root().join("deploy/monitoring");
    for arguments in [&["check", "config", "prometheus.yml"][..], &["test", "rules", "alerts.test.yml"]] {
        let output = std::process::Command::new("promtool").args(arguments).current_dir(&folder).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "promtool {arguments:?}: {}", String::from_utf8_lossy(&said));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_alert_fires_for_its_fault_and_the_commands_of_its_runbook_work() {
    if !has_programs() {
        return;
    }
    let mut watched = Watched::start().await;
    let prometheus = Prometheus::start(watched.folder.path(), &watched.targets).await;
    let market = watched.market();
    let api = market.info.base_url.clone();
    let chain = Chain::of(&market, market.info.data_dir());
    let pool: PgPool = crtx_store::testing::connect(&market.info.database_url, 2).await.unwrap();
    prometheus.until_up("3").await;
    let paid = market.paid().await;
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(prometheus.firing().await, BTreeSet::new(), "nothing is wrong yet");

    // An agent that fails, again and again, and webhooks whose target is gone.
    let session = Session::bearer(&market, &chain.wallet).await;
    let gone = json!({"url": format!("http://127.0.0.1:{}/", free_port().unwrap())});
    for _ in 0..10 {
        let created = session.ask(&market, Method::POST, "/v1/webhooks", Some(&gone)).await;
        assert_eq!(created.status, 201, "{created:?}");
    }
    for _ in 0..20 {
        assert_eq!(market.behave("fail").await.error_code(), "execution_failed");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    prometheus.until("CrtxRefunds", true).await;
    follow("CrtxRefunds", "demo", &watched, &prometheus, &api).await;
    prometheus.until("CrtxWebhooksFail", true).await;
    follow("CrtxWebhooksFail", "demo", &watched, &prometheus, &api).await;

    // A session holds the lock of the numbering; its runbook ends it.
    let holder = crtx_store::testing::connect(&market.info.database_url, 1).await.unwrap();
    tamper(&holder, "SELECT pg_advisory_lock(1668445313)").await;
    market.paid().await;
    prometheus.until("CrtxEventsLate", true).await;
    follow("CrtxEventsLate", "demo", &watched, &prometheus, &api).await;
    prometheus.until("CrtxEventsLate", false).await;

    // Somebody writes to the mirror.
    tamper(&pool, "UPDATE mirror_agents SET price = price + 1").await;
    prometheus.until("CrtxAuditDrift", true).await;
    follow("CrtxAuditDrift", "demo", &watched, &prometheus, &api).await;

    // A dispute that nobody decides.
    let (wallet, record) = (chain.wallet.pubkey(), chain.record(&paid));
    let evidence = OpenDisputeArgs { evidence_hash: [1; 32], evidence_uri: "ipfs://evidence".to_owned() };
    let agent = market.agent("text-stats").parse().unwrap();
    chain.send(chain.build.open_dispute(&wallet, &wallet, &agent, &record, evidence), &[&chain.wallet]).await;
    prometheus.until("CrtxDisputeClock", true).await;
    follow("CrtxDisputeClock", "resolver", &watched, &prometheus, &api).await;

    // Somebody takes the gateway's SOL; its runbook sends some.
    let gateway = chain.gateway.pubkey().to_string();
    market.rpc("surfnet_setAccount", json!([gateway, {"lamports": 60_000_000}])).await;
    prometheus.until("CrtxFeePayerLow", true).await;
    follow("CrtxFeePayerLow", "admin", &watched, &prometheus, &api).await;
    prometheus.until("CrtxFeePayerLow", false).await;

    // A process dies.
    watched.kill("worker").await;
    prometheus.until("CrtxServiceDown", true).await;
    follow("CrtxServiceDown", "demo", &watched, &prometheus, &api).await;

    // Its creator answers too late, and nobody is left to refund: its runbook does.
    let body = json!({"task": "conform", "parameters": {"behaviour": "slow"}, "async": true});
    let hung = market.execute(&market.agent("conformance-target"), &body).await;
    assert_eq!(hung.status, 200, "{hung:?}");
    watched.kill("api").await;
    prometheus.until("CrtxExecutionsStuck", true).await;
    follow("CrtxExecutionsStuck", "admin", &watched, &prometheus, &api).await;
    let hung = chain.execution(&chain.record(hung.text("execution_id"))).await;
    assert!(hung.terms.is_none(), "it has ended: {hung:?}");
    watched.begin("api").await;
    watched.begin("worker").await;
    prometheus.until("CrtxExecutionsStuck", false).await;
    prometheus.until("CrtxServiceDown", false).await;

    // Nobody follows the chain.
    let api = watched.market().info.base_url;
    watched.kill("indexer").await;
    prometheus.until("CrtxMirrorLag", true).await;
    follow("CrtxMirrorLag", "demo", &watched, &prometheus, &api).await;
    watched.begin("indexer").await;
    prometheus.until("CrtxMirrorLag", false).await;

    // The database takes no connections.
    let database = crtx_store::testing::tampering::text_of(&pool, "SELECT current_database()::text").await;
    let other = replaced(&market.info.database_url, &format!("/{database}?"), "/postgres?");
    let other = crtx_store::testing::connect(&other, 1).await.unwrap();
    drop(pool);
    let connections = |allowed: bool| format!("ALTER DATABASE {database} ALLOW_CONNECTIONS {allowed}");
    tamper(&other, &connections(false)).await;
    let of_it = format!("FROM pg_stat_activity WHERE datname = '{database}'");
    tamper(&other, &format!("SELECT pg_terminate_backend(pid) {of_it}")).await;
    prometheus.until("CrtxDatabaseDown", true).await;
    follow("CrtxDatabaseDown", "demo", &watched, &prometheus, &api).await;
    tamper(&other, &connections(true)).await;
    prometheus.until("CrtxDatabaseDown", false).await;

    let alerts: BTreeSet<_> = RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert_eq!(alerts.len(), 10, "each of them is above");
    for server in watched.servers.into_values() {
        assert!(server.stop().await.unwrap().success());
    }
    watched.up.stop().await.unwrap();
}
