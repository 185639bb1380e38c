//! What the `crtx` command says and how it ends where nothing can be done: scripts depend on both.
#![allow(clippy::expect_used, reason = "tests")]

const ID: &str = "165cf497-1db5-4f5e-940b-57c2e3534dea";
const AGENT: &str = "82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8";
/// Well formed, and of no wallet.
const KEY: (&str, &str) = ("CRTX_API_KEY", "crtx_test_4XJ3P1DYqDvnp7j1HtZV2GWkLtc3W3g8d1B1zG2mNikZ");

/// Arguments, environment, and what the message has to contain.
type Case = (&'static [&'static str], &'static [(&'static str, &'static str)], &'static str);

/// Exit status and standard error.
fn crtx(arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let config = tempfile::tempdir().expect("a folder");
    let mut command = crtx_e2e::crtx_without_settings(config.path());
    let output = command.args(arguments).envs(environment.iter().copied()).output().expect("crtx runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_command_line_that_makes_no_sense_ends_with_status_2_and_says_what_is_wrong() {
    for (arguments, environment, says) in CASES {
        let (status, text) = crtx(arguments, environment);
        assert_eq!(status, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?}: {text}");
        assert!(text.starts_with("crtx: ") && text.trim_end().lines().count() == 1, "one sentence: {text}");
    }
}

const CASES: [Case; 52] = [
    (&["verify"], &[KEY], "EXECUTION_ID"),
    (&["verify", "nonsense"], &[KEY], "EXECUTION_ID"),
    (&["verify", ID, "--rpc-url", "nonsense"], &[KEY], "not a URL"),
    (&["verify", ID], &[KEY, ("CRTX_URL", "localhost:8080")], "http://"),
    (&["verify", ID], &[], "CRTX_API_KEY"),
    (&["verify", ID], &[("CRTX_API_KEY", "")], "CRTX_API_KEY"),
    (&["execute", "nonsense", "--task", "x"], &[KEY], "AGENT_ID"),
    (&["execute", AGENT], &[KEY], "--task"),
    (&["execute", AGENT, "--task", "x", "--parameters", "[]"], &[KEY], "JSON object"),
    (&["frobnicate"], &[], "frobnicate"),
    (&["--network", "moonnet", "wallet", "show"], &[], "moonnet"),
    (&["wallet", "show"], &[("CRTX_NETWORK", "moonnet")], "moonnet"),
    (&["config", "set", "nonsense", "x"], &[], "no setting `nonsense`"),
    (&["config", "set", "url", "nonsense"], &[], "cannot be the url"),
    (&["config", "set", "url"], &[], "<VALUE>"),
    (&["wallet", "show"], &[], "crtx wallet new"),
    (&["wallet", "show", "nonsense"], &[], "[ADDRESS]"),
    (&["wallet", "show", AGENT], &[], "CRTX_RPC_URL"),
    (&["wallet", "fund", AGENT], &[], "crtx up"),
    (&["wallet", "fund", AGENT, "--network", "devnet"], &[], "devnet"),
    (&["wallet", "fund", AGENT, "--usdc", "0.0000001"], &[], "six decimals"),
    (&["agent"], &[], "--help"),
    (&["agent", "show"], &[], "<AGENT>"),
    (&["agent", "show", "my-agent"], &[], "its index"),
    (&["agent", "pause", "0"], &[], "--yes"),
    (&["agent", "resume", "0", "--yes"], &[], "No key pair"),
    (&["agent", "topup", "0", "1e3", "--yes"], &[], "six decimals"),
    (&["agent", "topup", "0", "0", "--yes"], &[], "more than 0"),
    (&["agent", "rotate-key", "0", "--yes"], &[], "--key"),
    (&["agent", "delist"], &[], "<AGENT>"),
    (&["agent", "withdraw", "0"], &[], "--yes"),
    (&["agent", "close", "0"], &[], "--yes"),
    (&["settle", ID], &[], "--answer"),
    (&["settle", "nonsense", "--answer", "-"], &[], "execution id"),
    (&["refund", "nonsense"], &[], "execution id"),
    (&["refund", ID], &[], "--yes"),
    (&["dispute", "show"], &[], "<EXECUTION>"),
    (&["dispute", "answer", ID], &[], "--text"),
    (&["dispute", "answer", ID, "--text", " "], &[], "empty"),
    (&["resolver", "uphold", ID, "--text", "x"], &[], "--slash"),
    (&["resolver", "reject", ID, "--text", "x"], &[], "--yes"),
    (&["admin", "verify-creator", AGENT], &[], "--name"),
    (&["admin", "set-fee", "501"], &[], "501"),
    (&["admin", "set-tiers", "1=2", "max=3"], &[], "4 values"),
    (&["admin", "set-tiers", "1=9", "2=3", "3=4", "max=5", "--yes"], &[], "must rise"),
    (&["admin", "announce-roles", "--yes"], &[], "--resolver"),
    (&["admin", "init", "--yes"], &[], "--resolver"),
    (&["admin", "init", "--usdc-mint", "x", "--yes"], &[], "--usdc-mint"),
    (&["admin", "test-mint", "--network", "mainnet", "--yes"], &[], "mainnet"),
    (&["wallet", "send", AGENT, "--yes"], &[], "--sol"),
    (&["wallet", "send", AGENT, "--sol", "0.0000000001", "--yes"], &[], "nine decimals"),
    (&["completions", "cobol"], &[], "cobol"),
];

#[test]
fn a_service_that_does_not_answer_is_an_error_and_no_verdict() {
    // Nobody listens on port 1.
    let (status, text) = crtx(&["verify", ID], &[KEY, ("CRTX_URL", "http://127.0.0.1:1")]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("no answer from http://127.0.0.1:1"), "{text}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    let record = serde_json::json!({"execution_id": ID, "status": "completed",
        "on_chain_record": "https://explorer.solana.com/address/BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86"});
    std::fs::write(&file, record.to_string()).expect("written");
    let file = file.to_str().expect("a path");
    let (status, text) = crtx(&["verify", "--file", file, "--rpc-url", "http://127.0.0.1:1"], &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("nothing was checked") && !text.contains("checks failed"), "{text}");
}

#[test]
fn a_record_does_not_choose_the_chain_that_it_is_checked_against() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    let link = "https://explorer.solana.com/address/BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86";
    for node in ["", "?cluster=custom&customUrl=https%3A%2F%2Frpc.example", "?cluster=custom&customUrl=nonsense"] {
        let record =
            serde_json::json!({"execution_id": ID, "status": "completed", "on_chain_record": format!("{link}{node}")});
        std::fs::write(&file, record.to_string()).expect("written");
        let (status, text) = crtx(&["verify", "--file", file.to_str().expect("a path")], &[]);
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains("CRTX_RPC_URL"), "{text}");
    }
}
