//! A marketplace on several machines, of which each may die. Needs the rights of root, and Debian's packages iproute2,
//! haproxy, pgbouncer and postgresql. Runs with `cargo xtask test machines`.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    env, fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::Result;
use crtx_e2e::{
    Up, free_port,
    server::{Server, until_listed, without_services},
};
use crtx_faults::machines::campaign::{Options, run};

const ROUNDS: usize = 40;
const SEED: u64 = 20_261_127;
/// What may be without service, and without a leader.
const LIMIT: Duration = Duration::from_secs(5);

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    env::var(name).ok().and_then(|text| text.parse().ok())
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_machine_dies_nothing_acknowledged_is_lost_and_service_is_back_within_five_seconds() {
    let options = Options {
        seed: variable("CRTX_CHAOS_SEED").unwrap_or(SEED),
        rounds: variable("CRTX_CHAOS_FAULTS").unwrap_or(ROUNDS),
        folder: Path::new(env!("CARGO_TARGET_TMPDIR")).join("machines"),
        previous: variable("CRTX_PREVIOUS_SERVER"),
    };
    let report = run(&options).await.unwrap();
    println!("{}", report.table());
    let violations: Vec<_> = report.violations.iter().take(4).collect();
    assert!(
        report.violations.is_empty(),
        "seed {}: {} violations: {violations:#?}",
        options.seed,
        report.violations.len()
    );
    assert!(report.gap_p99() <= LIMIT, "without service for {:?}", report.gap_p99());
    assert!(report.longest_failover() <= LIMIT, "without a leader for {:?}", report.longest_failover());
}

/// A `crtx-server` with every role whose database is behind pgbouncer.
fn behind_pgbouncer(up: &Up, folder: &Path) -> (Child, Result<Server>) {
    let info = up.info();
    let (socket, port) = (info.database_url.split_once("host=").unwrap().1.replace("%2F", "/"), free_port().unwrap());
    let settings = format!(
        "[databases]\ncrtx = host={socket} dbname=crtx user=crtx\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         auth_type = any\npool_mode = session\nmax_client_conn = 300\ndefault_pool_size = 60\nunix_socket_dir =\n\
         ignore_startup_parameters = options,extra_float_digits\n"
    );
    let file = folder.join("pgbouncer.ini");
    fs::write(&file, settings).unwrap();
    let mut pgbouncer = Command::new("setpriv");
    pgbouncer.args(["--reuid", "postgres", "--regid", "postgres", "--init-groups", "pgbouncer", "--quiet"]).arg(&file);
    let pgbouncer = pgbouncer.stdin(Stdio::null()).spawn().unwrap();
    let config = fs::read_to_string(&info.server_config).unwrap();
    let config = config.replace(&info.database_url, &format!("postgres://crtx@127.0.0.1:{port}/crtx"));
    let path = folder.join("pgbouncer.toml");
    fs::write(&path, config).unwrap();
    (pgbouncer, Server::start_with(&path, folder, "behind-pgbouncer", "api,worker,indexer"))
}

#[tokio::test(flavor = "multi_thread")]
async fn pgbouncer_works_in_session_mode_if_it_ignores_two_startup_parameters() {
    let (folder, mut up) = without_services().await.unwrap();
    let (mut pgbouncer, server) = behind_pgbouncer(&up, folder.path());
    let mut server = server.unwrap();
    server.until_readyz_is(200).await.unwrap();
    let market = server.market(up.info());
    let agent = market.agent("text-stats");
    until_listed(&market, &agent).await;
    let paid = market.execute(&agent, &serde_json::json!({"task": "One. Two."})).await;
    assert_eq!(paid.status, 200, "{paid:?}");
    assert!(server.stop().await.unwrap().success());
    pgbouncer.kill().unwrap();
    pgbouncer.wait().unwrap();
    up.stop().await.unwrap();
}
