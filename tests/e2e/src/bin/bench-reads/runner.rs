//! Runs cases one after the other: asks once and checks the answer, loads the service, keeps the figures.

use std::time::Duration;

use anyhow::Result;
use crtx_e2e::{bench::Row, process};
use crtx_protocol::api_key::ApiKey;
use serde_json::Value;

use super::{
    oha::{Load, Oha},
    service::Service,
};

/// `/healthz` is measured again after so many cases.
const CASES_PER_HEALTHZ: usize = 4;

/// One kind of request.
pub struct Case {
    pub name: String,
    /// Paths with their queries, asked for in random order.
    pub paths: Vec<String>,
    pub key: Option<ApiKey>,
    /// What `total` of the first path must be.
    pub total: Option<Total>,
    /// With the compression that clients offer.
    pub compressed: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Total {
    Exactly(i64),
    /// A search also finds what is similar.
    AtLeast(i64),
}

impl Case {
    pub fn new(name: impl Into<String>, paths: Vec<String>) -> Self {
        Self { name: name.into(), paths, key: None, total: None, compressed: false }
    }
}

/// What came of a case.
#[derive(Clone, Copy, Debug)]
pub enum Outcome {
    /// Not among the wanted cases.
    Skipped,
    /// The service does not answer the request with 200.
    Refused,
    Measured(Load),
}

/// What a group of cases is held to.
#[derive(Clone, Copy)]
pub struct Gates {
    pub rps: Option<f64>,
    pub p99_ms: Option<f64>,
    pub of_healthz: Option<f64>,
}

pub struct Runner {
    base_url: String,
    api_pid: u32,
    postgres_pid: u32,
    /// Beginnings of the names of the wanted cases; all if there are none.
    only: Vec<String>,
    http: reqwest::Client,
    oha: Oha,
    healthz: Load,
    since_healthz: usize,
    slowest_healthz: f64,
    rows: Vec<Row>,
    errors: u64,
    wrong_totals: u64,
}

impl Runner {
    pub fn new(service: &Service, oha: Oha, only: Vec<String>) -> Result<Self> {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).no_proxy().build()?;
        Ok(Self {
            base_url: service.base_url().to_owned(),
            api_pid: service.api_pid(),
            postgres_pid: service.postgres_pid,
            only,
            http,
            oha,
            healthz: Load::default(),
            since_healthz: CASES_PER_HEALTHZ,
            slowest_healthz: f64::MAX,
            rows: Vec::new(),
            errors: 0,
            wrong_totals: 0,
        })
    }

    /// Whether a case of this name is measured.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.starts_with(only))
    }

    /// Whether a case whose name begins so may be among those that are measured.
    pub fn wants_some_of(&self, group: &str) -> bool {
        self.wants(group) || self.only.iter().any(|only| only.starts_with(group))
    }

    /// Measures a case, and keeps its figures below its name.
    pub async fn run(&mut self, case: &Case, gates: Gates) -> Result<Outcome> {
        if !self.wants(&case.name) {
            return Ok(Outcome::Skipped);
        }
        if !self.answers(case).await? {
            self.rows.extend(gates.rps.map(|gate| Row::new(format!("{}_rps", case.name), 0.0, "1/s").at_least(gate)));
            return Ok(Outcome::Refused);
        }
        let healthz = self.healthz().await?.rps;
        let urls: Vec<String> = case.paths.iter().map(|path| format!("{}{path}", self.base_url)).collect();
        self.oha.warm_up(&urls, case.key.as_ref(), case.compressed).await?;
        let cpu = self.cpu();
        let load = self.oha.run(case.key.as_ref(), case.compressed).await?;
        let [service, postgres] = [0, 1]
            .map(|part| self.cpu()[part].saturating_sub(cpu[part]).as_secs_f64() * 1e6 / load.answers.max(1) as f64);
        let Load { rps, p50_ms, p99_ms, errors, .. } = load;
        let share = rps / healthz;
        eprintln!(
            "{:48} {rps:8.0}/s  p50 {p50_ms:7.2}  p99 {p99_ms:7.2} ms  {share:4.2} of /healthz  {errors} errors  \
             processor time: service {service:.0}, postgres {postgres:.0} us",
            case.name
        );
        self.errors += errors;
        let mut keep = |figure: &str, value: f64, unit, gate: Option<f64>, at_least: bool| {
            let row = Row::new(format!("{}_{figure}", case.name), value, unit);
            self.rows.push(Row { gate, at_least: at_least && gate.is_some(), ..row });
        };
        keep("rps", rps, "1/s", gates.rps, true);
        keep("p99_ms", p99_ms, "ms", gates.p99_ms, false);
        keep("of_healthz", share, "", gates.of_healthz, true);
        Ok(Outcome::Measured(load))
    }

    /// Asks once. A refusal is told; a wrong total counts.
    async fn answers(&mut self, case: &Case) -> Result<bool> {
        let (status, body) = self.get(&case.paths[0], case.key.as_ref()).await?;
        if status != 200 {
            eprintln!("{:48} {status}: {}", case.name, body["error"]["message"]);
            return Ok(false);
        }
        if let Some(total) = case.total {
            self.check_total(&case.name, total, body["total"].as_i64());
        }
        Ok(true)
    }

    pub fn check_total(&mut self, name: &str, expected: Total, shown: Option<i64>) {
        let right = match expected {
            Total::Exactly(total) => shown == Some(total),
            Total::AtLeast(total) => shown.is_some_and(|shown| shown >= total),
        };
        if !right {
            eprintln!("{name}: the list says {shown:?}, the tables say {expected:?}");
            self.wrong_totals += 1;
        }
    }

    pub async fn get(&self, path: &str, key: Option<&ApiKey>) -> Result<(u16, Value)> {
        let mut request = self.http.get(format!("{}{path}", self.base_url));
        if let Some(key) = key {
            request = request.bearer_auth(key.reveal());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        Ok((status, response.json().await.unwrap_or(Value::Null)))
    }

    /// What `/healthz` answers at this time of the run.
    async fn healthz(&mut self) -> Result<Load> {
        if self.since_healthz >= CASES_PER_HEALTHZ {
            self.oha.warm_up(&[format!("{}/healthz", self.base_url)], None, false).await?;
            self.healthz = self.oha.run(None, false).await?;
            self.slowest_healthz = self.slowest_healthz.min(self.healthz.rps);
            self.since_healthz = 0;
            eprintln!("{:48} {:8.0}/s", "/healthz", self.healthz.rps);
        }
        self.since_healthz += 1;
        Ok(self.healthz)
    }

    /// What the service and its database have used of the processors.
    fn cpu(&self) -> [Duration; 2] {
        [process::cpu(self.api_pid), process::cpu_of_postgres_below(self.postgres_pid)]
    }

    pub fn keep(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub fn into_rows(mut self) -> Vec<Row> {
        self.rows.push(Row::new("reads_wrong_totals", self.wrong_totals as f64, "").at_most(0.0));
        self.rows.push(Row::new("reads_errors", self.errors as f64, "").at_most(0.0));
        self.rows.push(Row::new("healthz_rps", self.slowest_healthz, "1/s"));
        self.rows
    }
}

/// The worst of several cases; a refused case is the worst.
#[derive(Default)]
pub struct Worst {
    rps: Option<f64>,
    p99_ms: Option<f64>,
}

impl Worst {
    pub fn add(&mut self, outcome: Outcome) {
        let Load { rps, p99_ms, .. } = match outcome {
            Outcome::Skipped => return,
            Outcome::Refused => Load::default(),
            Outcome::Measured(load) => load,
        };
        self.rps = Some(self.rps.map_or(rps, |worst| worst.min(rps)));
        self.p99_ms = Some(self.p99_ms.map_or(p99_ms, |worst| worst.max(p99_ms)));
    }

    /// The rows `…_rps` and `…_p99_ms`; none without a case.
    pub fn rows(&self, name: &str, gates: Gates) -> Vec<Row> {
        let (Some(rps), Some(p99_ms)) = (self.rps, self.p99_ms) else { return Vec::new() };
        vec![
            Row { gate: gates.rps, at_least: gates.rps.is_some(), ..Row::new(format!("{name}_rps"), rps, "1/s") },
            Row { gate: gates.p99_ms, ..Row::new(format!("{name}_p99_ms"), p99_ms, "ms") },
        ]
    }
}
