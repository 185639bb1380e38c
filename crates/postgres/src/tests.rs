//! Runs the real server.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn quiet(_: &str) {}

async fn start(dir: &Path) -> PostgresCluster {
    PostgresCluster::start(dir, &quiet).await.expect("starts")
}

async fn ask(url: &str, question: &'static str) -> i64 {
    let mut connection = PgConnection::connect(url).await.expect("connects");
    sqlx::query_scalar(question).fetch_one(&mut connection).await.expect("answers")
}

fn server_pid(cluster: &PostgresCluster) -> i32 {
    running_pid(&cluster.cluster_folder.data().join("postmaster.pid")).expect("runs")
}

async fn gone(pid: i32) -> bool {
    for _ in 0..500 {
        if nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_err() {
            return true;
        }
        tokio::time::sleep(POLL).await;
    }
    false
}

#[tokio::test]
async fn a_cluster_keeps_what_was_committed_over_a_stop() {
    let dir = tempfile::tempdir().expect("dir");
    // The server's user has to get in; a temporary directory is closed to others.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
    let cluster = start(dir.path()).await;
    let pid = server_pid(&cluster);
    let mut connection = PgConnection::connect(&cluster.url()).await.expect("connects");
    sqlx::query("create table kept as select 41::bigint as number").execute(&mut connection).await.expect("creates");
    cluster.begin_syncing().await.expect("syncs");
    assert!(cluster.stop().await.expect("stops").success());
    assert!(gone(pid).await, "the server outlived its stop");

    let cluster = start(dir.path()).await;
    assert_eq!(ask(&cluster.url(), "select number + 1 from kept").await, 42);
    cluster.stop().await.expect("stops");
    remove(dir.path()).expect("removes");
}

async fn fsync_is_on(cluster: &PostgresCluster) -> bool {
    ask(&cluster.url(), "select (current_setting('fsync') = 'on')::int::bigint").await == 1
}

#[tokio::test]
async fn a_new_cluster_syncs_from_the_end_of_its_set_up_on() {
    let dir = tempfile::tempdir().expect("dir");
    let cluster = start(dir.path()).await;
    assert!(!fsync_is_on(&cluster).await);
    assert!(cluster.cluster_folder.folder.join(NOTE).exists());
    cluster.begin_syncing().await.expect("syncs");
    assert!(fsync_is_on(&cluster).await);
    assert!(!cluster.cluster_folder.folder.join(NOTE).exists());
    cluster.begin_syncing().await.expect("does nothing");
    cluster.stop().await.expect("stops");
    let cluster = start(dir.path()).await;
    assert!(fsync_is_on(&cluster).await);
    cluster.stop().await.expect("stops");
    remove(dir.path()).expect("removes");
}

#[tokio::test]
async fn a_kill_loses_nothing_after_the_set_up_and_makes_a_new_cluster_before() {
    let dir = tempfile::tempdir().expect("dir");
    for set_up in [false, true] {
        let cluster = start(dir.path()).await;
        assert_eq!(ask(&cluster.url(), "select count(*) from pg_tables where tablename = 'kept'").await, 0);
        let mut connection = PgConnection::connect(&cluster.url()).await.expect("connects");
        sqlx::query("create table kept as select 41::bigint as number")
            .execute(&mut connection)
            .await
            .expect("creates");
        if set_up {
            cluster.begin_syncing().await.expect("syncs");
        }
        let server = nix::unistd::Pid::from_raw(server_pid(&cluster));
        nix::sys::signal::kill(server, nix::sys::signal::Signal::SIGKILL).expect("kills");
    }
    let cluster = start(dir.path()).await;
    assert_eq!(ask(&cluster.url(), "select number from kept").await, 41);
    cluster.stop().await.expect("stops");
    remove(dir.path()).expect("removes");
}

#[tokio::test]
async fn the_server_listens_on_no_port_and_does_not_run_as_root() {
    let dir = tempfile::tempdir().expect("dir");
    let cluster = start(dir.path()).await;
    let url = cluster.url();
    assert_eq!(
        ask(&url, "select count(*) from pg_settings where name = 'listen_addresses' and setting <> ''").await,
        0
    );
    let pid = server_pid(&cluster);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).expect("a uid");
    assert_ne!(uid.split_whitespace().next(), Some("0"));
    cluster.stop().await.expect("stops");
    remove(dir.path()).expect("removes");
}

#[tokio::test]
async fn a_data_directory_that_only_root_may_enter_works() {
    let dir = tempfile::tempdir().expect("dir");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).expect("chmod");
    let cluster = start(dir.path()).await;
    assert_eq!(ask(&cluster.url(), "select 1::bigint").await, 1);
    if nix::unistd::geteuid().is_root() {
        assert!(dir.path().join("postgres/elsewhere").exists());
    }
    let folder = cluster.cluster_folder.clone();
    cluster.stop().await.expect("stops");
    remove(dir.path()).expect("removes");
    assert!(!folder.data().exists());
}

#[tokio::test]
async fn the_server_ends_with_its_parent_and_the_next_start_recovers() {
    let dir = tempfile::tempdir().expect("dir");
    let cluster = start(dir.path()).await;
    let pid = server_pid(&cluster);
    // As when the parent is killed: its end of the pipe closes, nobody waits.
    drop(cluster);
    let next = start(dir.path()).await;
    assert!(gone(pid).await, "the first server outlived its parent");
    assert_eq!(ask(&next.url(), "select 1::bigint").await, 1);
    next.stop().await.expect("stops");
    remove(dir.path()).expect("removes");
}

#[tokio::test]
async fn a_server_that_cannot_shut_down_is_ended_and_recovers() {
    let dir = tempfile::tempdir().expect("dir");
    let cluster = start(dir.path()).await;
    let pid = server_pid(&cluster);
    let mut connection = PgConnection::connect(&cluster.url()).await.expect("connects");
    sqlx::query("create table kept as select 41::bigint as number").execute(&mut connection).await.expect("creates");
    cluster.begin_syncing().await.expect("syncs");
    // The server waits for its checkpointer, which does not come to it.
    let question = "select pid::bigint from pg_stat_activity where backend_type = 'checkpointer'";
    let checkpointer = i32::try_from(ask(&cluster.url(), question).await).expect("a process");
    let checkpointer = nix::unistd::Pid::from_raw(checkpointer);
    nix::sys::signal::kill(checkpointer, nix::sys::signal::Signal::SIGSTOP).expect("stops");
    drop(cluster.stop().await);
    assert!(gone(pid).await, "the server waits on");

    let cluster = start(dir.path()).await;
    assert_eq!(ask(&cluster.url(), "select number + 1 from kept").await, 42);
    cluster.stop().await.expect("stops");
}

#[tokio::test]
async fn a_server_that_dies_is_noticed() {
    let dir = tempfile::tempdir().expect("dir");
    let mut cluster = start(dir.path()).await;
    let pid = nix::unistd::Pid::from_raw(server_pid(&cluster));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGQUIT).expect("signals");
    let error = tokio::time::timeout(STOP_LIMIT, cluster.ended()).await.expect("notices");
    assert!(error.to_string().contains("ended"), "{error}");
    remove(dir.path()).expect("removes");
}

#[tokio::test]
async fn waiting_for_the_end_does_not_bring_it_about() {
    let dir = tempfile::tempdir().expect("dir");
    let mut cluster = start(dir.path()).await;
    let ended = tokio::time::timeout(Duration::from_millis(500), cluster.ended()).await;
    assert!(ended.is_err(), "the server ended: {ended:?}");
    assert_eq!(ask(&cluster.url(), "select 1::bigint").await, 1);
    cluster.stop().await.expect("stops");
    remove(dir.path()).expect("removes");
}

#[tokio::test]
async fn a_half_made_cluster_is_made_again() {
    let dir = tempfile::tempdir().expect("dir");
    let cluster_folder = ClusterFolder::below(dir.path()).expect("a folder");
    fs::create_dir(cluster_folder.unfinished_data()).expect("dir");
    fs::write(cluster_folder.unfinished_data().join("PG_VERSION"), "15\n").expect("file");
    let cluster = start(dir.path()).await;
    assert_eq!(ask(&cluster.url(), "select 1::bigint").await, 1);
    cluster.stop().await.expect("stops");
    remove(dir.path()).expect("removes");
}

#[tokio::test]
async fn a_cluster_of_another_version_is_refused_with_a_way_out() {
    let dir = tempfile::tempdir().expect("dir");
    let cluster_folder = ClusterFolder::below(dir.path()).expect("a folder");
    fs::create_dir(cluster_folder.data()).expect("dir");
    fs::write(cluster_folder.data().join("PG_VERSION"), "9\n").expect("file");
    let error = PostgresCluster::start(dir.path(), &quiet).await.err().expect("refused");
    assert!(error.to_string().contains("PostgreSQL 9") && error.to_string().contains("--fresh"), "{error}");
    remove(dir.path()).expect("removes");
}
