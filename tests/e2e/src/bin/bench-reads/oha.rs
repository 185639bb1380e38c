//! The load generator `oha`: how it is called, and what of its answer is used.

use std::{collections::BTreeMap, io::Write, path::PathBuf, process::Stdio};

use anyhow::{Context, Result, ensure};
use crtx_protocol::api_key::ApiKey;
use serde::Deserialize;
use tokio::process::Command;

const CONNECTIONS: &str = "50";
const WARM_UP_SECONDS: u32 = 1;

pub struct Oha {
    program: PathBuf,
    seconds: u32,
    folder: tempfile::TempDir,
}

/// What many requests of one kind came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Answers with status 200 per second.
    pub rps: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Answers, whatever their status.
    pub answers: u64,
    /// Answers with another status, and requests without an answer.
    pub errors: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    summary: Summary,
    latency_percentiles: Percentiles,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Summary {
    /// Seconds that the run took.
    total: f64,
}

#[derive(Deserialize)]
struct Percentiles {
    p50: Option<f64>,
    p99: Option<f64>,
}

impl Oha {
    pub fn new(program: PathBuf, seconds: u32) -> Result<Self> {
        Ok(Self { program, seconds, folder: tempfile::tempdir()? })
    }

    /// Names what the next runs ask for, and warms up.
    pub async fn warm_up(&self, urls: &[String], key: Option<&ApiKey>, compressed: bool) -> Result<()> {
        let mut file = std::fs::File::create(self.folder.path().join("urls"))?;
        for url in urls {
            writeln!(file, "{url}")?;
        }
        self.once(WARM_UP_SECONDS, key, compressed).await?;
        Ok(())
    }

    /// Asks for the named URLs in random order for the length of a case.
    pub async fn run(&self, key: Option<&ApiKey>, compressed: bool) -> Result<Load> {
        self.once(self.seconds, key, compressed).await
    }

    async fn once(&self, seconds: u32, key: Option<&ApiKey>, compressed: bool) -> Result<Load> {
        let mut command = Command::new(&self.program);
        // Waits for the last answers: without them a run would leave out its slowest requests.
        command.args(["--no-tui", "--wait-ongoing-requests-after-deadline", "--output-format", "json"]);
        command.args(["-c", CONNECTIONS, "-z", &format!("{seconds}s")]);
        if !compressed {
            command.arg("--disable-compression");
        }
        if let Some(key) = key {
            command.args(["-H", &format!("authorization: Bearer {}", key.reveal())]);
        }
        command.arg("--urls-from-file").arg(self.folder.path().join("urls"));
        let output = command.stdin(Stdio::null()).output().await.context("oha cannot be started")?;
        ensure!(output.status.success(), "oha: {}", String::from_utf8_lossy(&output.stderr));
        let report: Report = serde_json::from_slice(&output.stdout).context("the report of oha")?;
        Ok(report.load())
    }
}

impl Report {
    fn load(&self) -> Load {
        let good = self.status_code_distribution.get("200").copied().unwrap_or_default();
        let answers: u64 = self.status_code_distribution.values().sum();
        let errors = answers - good + self.error_distribution.values().sum::<u64>();
        let ms = |seconds: Option<f64>| seconds.unwrap_or_default() * 1_000.0;
        let percentiles = &self.latency_percentiles;
        Load {
            rps: good as f64 / self.summary.total,
            p50_ms: ms(percentiles.p50),
            p99_ms: ms(percentiles.p99),
            answers,
            errors,
        }
    }
}
