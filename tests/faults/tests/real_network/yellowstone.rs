//! The indexer on the field's own Yellowstone server: the geyser plug-in of `yellowstone-grpc`, in the validator.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crtx_e2e::{
    Up, free_port,
    market::Market,
    server::{Server, until_listed},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    time::sleep,
};

use crate::{LIMIT, VARIABLE, shows_what_the_chain_has, until};

/// Names the plug-in. `cargo xtask test real-network` sets it.
const PLUGIN_VARIABLE: &str = "CRTX_TEST_YELLOWSTONE";
/// The client of Yellowstone gives a server up after five attempts to connect again, the last of them 3.2 s after the cut.
const SHORT_CUT: Duration = Duration::from_millis(1_000);
const LONG_CUT: Duration = Duration::from_secs(8);
const TOKEN: &str = "a-token-of-the-provider";

/// A connection that the test can cut.
struct Wire {
    address: SocketAddr,
    whole: watch::Sender<bool>,
    connections: Arc<AtomicUsize>,
}

impl Wire {
    async fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let whole = watch::Sender::new(true);
        let (sender, connections) = (whole.clone(), Arc::<AtomicUsize>::default());
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                counted.fetch_add(1, Relaxed);
                let mut whole = sender.subscribe();
                tokio::spawn(async move {
                    let passed = async {
                        let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
                        copy_bidirectional(&mut client, &mut server).await
                    };
                    tokio::select! {
                        _ = passed => {}
                        _ = whole.wait_for(|whole| !whole) => {}
                    }
                });
            }
        });
        Self { address, whole, connections }
    }

    async fn cut_for(&self, time: Duration) {
        self.whole.send_replace(false);
        sleep(time).await;
        self.whole.send_replace(true);
    }
}

/// A marketplace on a validator with the plug-in, and a process of the services that follows it.
struct World {
    folder: TempDir,
    up: Up,
    server: Server,
    market: Market,
    wire: Wire,
    plugin_config: PathBuf,
}

impl World {
    /// `None`, with a message, without validator and plug-in.
    async fn start(test: &str, replay_slots: u64) -> Option<Self> {
        let (Some(validator), Some(plugin)) = (std::env::var_os(VARIABLE), std::env::var_os(PLUGIN_VARIABLE)) else {
            eprintln!(
                "{test}: skipped, because {VARIABLE} and {PLUGIN_VARIABLE} do not name a validator and a plug-in"
            );
            return None;
        };
        let folder = crtx_e2e::folder();
        let port = free_port().unwrap();
        let plugin_config = folder.path().join("geyser.json");
        let config = json!({
            "libpath": plugin.to_str().unwrap(),
            "grpc": {
                "address": format!("127.0.0.1:{port}"),
                "replay_stored_slots": replay_slots,
                "x_token": TOKEN,
            },
        });
        fs::write(&plugin_config, config.to_string()).unwrap();
        let program = folder.path().join("validator-with-plugin");
        let script = format!(
            "#!/bin/sh\nexec '{}' --geyser-plugin-config '{}' \"$@\"\n",
            validator.to_str().unwrap(),
            plugin_config.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();

        let data = folder.path().join("data");
        let arguments = ["up", "--json", "--services", "none", "--data-dir", data.to_str().unwrap(), "--validator"];
        let up = Up::start_with(&[&arguments[..], &[program.to_str().unwrap()]].concat()).await.unwrap();
        let wire = Wire::to(port).await;
        let settings = fs::read_to_string(&up.info().server_config).unwrap();
        let with_yellowstone =
            format!("[rpc]\nyellowstone_url = \"http://{}\"\nyellowstone_token = \"{TOKEN}\"\n", wire.address);
        assert!(settings.contains("[rpc]\n"), "{settings}");
        let config = folder.path().join("with-yellowstone.toml");
        // No snapshot but those that the stream needs.
        let rare = "\n[indexer]\nresync_seconds = 86400\n";
        fs::write(&config, settings.replace("[rpc]\n", &with_yellowstone) + rare).unwrap();
        let mut server = Server::start_with(&config, folder.path(), "server", "api,worker,indexer").unwrap();
        server.until_readyz_is(200).await.unwrap();
        let market = server.market(up.info());
        until_listed(&market, &market.agent("text-stats")).await;
        Some(Self { folder, up, server, market, wire, plugin_config })
    }

    async fn stop(mut self) {
        assert!(self.server.stop().await.unwrap().success());
        self.up.stop().await.unwrap();
    }

    async fn status(&self) -> Value {
        self.market.get("/v1/status").await.body
    }

    async fn until_status(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let status = self.status().await;
            if is(&status) {
                return status;
            }
            assert!(started.elapsed() < LIMIT, "{what}: {status:#}");
            sleep(Duration::from_millis(500)).await;
        }
    }

    /// Waits until the mirror follows the server and shows the chain up to now.
    async fn until_over_grpc(&self) -> Value {
        let server = self.wire.address.to_string();
        self.until_status("the changes come over gRPC", |status| {
            status["processes"][0]["source"] == server.as_str() && status["status"] == "live"
        })
        .await
    }

    /// Waits until the stream has proved that the mirror shows everything up to a slot that is newer than now.
    async fn until_proved(&self) {
        let newest = self.market.rpc("getSlot", json!([{"commitment": "confirmed"}])).await.as_u64().unwrap();
        self.until_status("the stream proves what it delivered", |status| {
            status["indexed_slot"].as_u64() > Some(newest)
        })
        .await;
    }

    /// A paid call, which the mirror shows.
    async fn paid(&self) -> String {
        let id = self.market.paid().await;
        until(&self.market, &id, &["completed"]).await;
        id
    }

    /// What an operator does on the creator's machine.
    fn as_creator(&self, arguments: &[&str]) {
        let keypair = self.market.info.data_dir().join("wallets/creator.json");
        let output = self.market.crtx(&[arguments, &["--yes", "--keypair", keypair.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Ends the server and starts another one, which has nothing to replay.
    async fn restart_server(&self) {
        let plugins = self.tell_validator("listPlugins", json!([])).await;
        self.tell_validator("reloadPlugin", json!([plugins[0], self.plugin_config])).await;
    }

    async fn tell_validator(&self, method: &str, params: Value) -> Value {
        let socket = self.market.info.data_dir().join("validator/ledger/admin.rpc");
        let mut socket = UnixStream::connect(socket).await.unwrap();
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        socket.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        let mut answer = vec![0; 4_096];
        let length = socket.read(&mut answer).await.unwrap();
        let answer: Value = serde_json::from_slice(&answer[..length]).unwrap();
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_yellowstone_the_mirror_shows_calls_and_closed_accounts_as_the_chain_and_a_rebuild_do() {
    let Some(world) = World::start("yellowstone", 200).await else { return };
    let status = world.until_over_grpc().await;
    let snapshot = status["last_snapshot_at"].clone();
    world.until_status("the replay depth", |status| status["processes"][0]["replay_slots"].as_u64() > Some(0)).await;
    let paid = world.paid().await;
    let disputed = world.market.crtx(&["dispute", "open", &paid, "--text", "The numbers are wrong.", "--yes"]);
    assert!(disputed.status.success(), "{}", String::from_utf8_lossy(&disputed.stderr));
    futures::future::join_all((0..8).map(|_| world.paid())).await;

    // A listing that is closed before it was ever final leaves no row, and a rebuild has one.
    let newest = world.status().await["chain_slot"].as_u64().unwrap();
    world.until_status("the listing is final", |status| status["digest"]["slot"].as_u64() > Some(newest)).await;
    let agent = world.market.agent("conformance-target");
    for step in ["delist", "withdraw", "close"] {
        world.as_creator(&["agent", step, &agent]);
    }
    let listing = format!("/v1/agents/{agent}/listing");
    let started = Instant::now();
    while world.market.get(&listing).await.body["reason"]["code"] != "closed" {
        assert!(started.elapsed() < LIMIT, "the mirror shows the closing: {:?}", world.market.get(&listing).await);
        sleep(Duration::from_millis(200)).await;
    }
    world.until_proved().await;
    let status = world.until_over_grpc().await;
    assert_eq!(status["last_snapshot_at"], snapshot, "everything came over the stream");
    shows_what_the_chain_has(&world.market, world.folder.path()).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cut_hides_is_replayed_and_beyond_the_replay_a_snapshot_brings_it() {
    let Some(world) = World::start("yellowstone cuts", 200).await else { return };
    world.until_over_grpc().await;
    world.until_proved().await;
    let before = world.until_over_grpc().await;
    let connections = world.wire.connections.load(Relaxed);
    for _ in 0..3 {
        let (paid, ()) = tokio::join!(world.market.paid(), world.wire.cut_for(SHORT_CUT));
        until(&world.market, &paid, &["completed"]).await;
        world.until_proved().await;
    }
    let status = world.until_over_grpc().await;
    assert!(world.wire.connections.load(Relaxed) >= connections + 3, "each cut was noticed");
    assert_eq!(status["last_snapshot_at"], before["last_snapshot_at"], "what was missed was sent again");

    // Longer than the client tries: the WebSocket stands in, until the server answers again.
    let (paid, ()) = tokio::join!(world.market.paid(), world.wire.cut_for(LONG_CUT));
    until(&world.market, &paid, &["completed"]).await;
    let status = world.until_over_grpc().await;
    assert_ne!(status["last_snapshot_at"], before["last_snapshot_at"]);
    world.until_proved().await;

    // A server that begins anew cannot send what it never had.
    let before = world.until_over_grpc().await;
    let (paid, ()) = tokio::join!(world.market.paid(), world.restart_server());
    until(&world.market, &paid, &["completed"]).await;
    world.until_status("a snapshot", |status| status["last_snapshot_at"] != before["last_snapshot_at"]).await;
    world.until_over_grpc().await;
    world.until_proved().await;
    let audit = world.market.crtx(&["audit"]);
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
    world.stop().await;
}
