//! What anybody can repeat: `crtx verify` for every record, and an audit of the whole mirror.

use std::{collections::HashSet, path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use anyhow::Result;
use crtx_e2e::crtx_binary;
use crtx_mirror::{
    proof::Auditor,
    source::{Deadlines, EndpointUrls, Endpoints},
};
use futures::StreamExt;
use serde_json::Value;
use solana_pubkey::Pubkey;
use tokio::process::Command;
use uuid::Uuid;

use super::{Checker, Facts, Violation, facts::OpenedRecord};

const RPC_TIMEOUT: Duration = Duration::from_secs(30);
/// Records that are verified at a time.
const AT_ONCE: usize = 3;

impl Checker<'_> {
    /// How many records were verified, and which could not be.
    pub async fn check_proofs(&self, facts: &Facts, verified: &mut HashSet<Pubkey>) -> Result<(usize, Vec<Violation>)> {
        let info = self.marketplace.info()?;
        let new = facts.records.iter().filter(|(address, _)| !verified.contains(address));
        let checks = new.map(|(address, record)| self.verify(&info.base_url, &info.rpc_url, *address, record));
        let checks: Vec<_> = checks.collect();
        let outcomes: Vec<(Pubkey, Option<String>)> =
            futures::stream::iter(checks).buffer_unordered(AT_ONCE).collect().await;
        let mut violations = Vec::new();
        for (address, problem) in outcomes {
            match problem {
                None => {
                    verified.insert(address);
                }
                Some(problem) => {
                    let details = format!("{problem}\n{}", self.report_of(&facts.records[&address]));
                    violations.push(Violation { rule: "every record is verifiable", details });
                }
            }
        }
        Ok((verified.len(), violations))
    }

    /// `crtx verify`; what is wrong, if something is.
    async fn verify(
        &self,
        base_url: &str,
        rpc_url: &str,
        address: Pubkey,
        record: &OpenedRecord,
    ) -> (Pubkey, Option<String>) {
        let id = Uuid::from_bytes(record.execution_id);
        let wallet = self.cast.wallet_of(&record.caller).unwrap_or_default();
        let mut command = Command::new(crtx_binary());
        command
            .args(["verify", &id.to_string(), "--json"])
            // Nothing is configured: what the check uses stands here.
            .env(crtx_e2e::CONFIG_DIR, "/nonexistent")
            .env("CRTX_URL", base_url)
            // Machines of a test have addresses of their own, and no certificates.
            .env("CRTX_ALLOW_HTTP", "1")
            .env("CRTX_RPC_URL", rpc_url)
            .env("CRTX_API_KEY", self.cast.key_of(wallet))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        if let Some(copy) = self.content_of_the_creator(id) {
            command.arg("--content").arg(copy);
        }
        let output = match command.output().await {
            Ok(output) => output,
            Err(error) => return (address, Some(format!("crtx verify does not run: {error}"))),
        };
        if output.status.success() {
            return (address, None);
        }
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let failed = report["checks"].as_array().into_iter().flatten().filter(|check| check["ok"] != true);
        let failed: Vec<String> = failed.map(Value::to_string).collect();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (address, Some(format!("crtx verify: {} {said}", failed.join(" "))))
    }

    /// A creator that settles without the gateway hands the result over itself.
    fn content_of_the_creator(&self, execution: Uuid) -> Option<PathBuf> {
        let result = self.cast.creator.notes(execution).settled?;
        let path = self.marketplace.data_dir.with_file_name(format!("settled-{execution}"));
        std::fs::write(&path, result).ok()?;
        Some(path)
    }

    /// Every account of the program against its row, and every token account against what it must hold.
    pub async fn check_audit(&self) -> Result<Option<Violation>> {
        let info = self.marketplace.info()?;
        let urls = EndpointUrls::pairs(&info.rpc_url.parse()?, &info.ws_url)?;
        let program = info.program_id.parse()?;
        let source =
            Arc::new(Endpoints::new(&urls, None, program, Deadlines { answer: RPC_TIMEOUT, ..Deadlines::default() })?);
        let report = Auditor::new(source, self.pool.clone(), program).examine(false).await?;
        let rule = "a fresh audit finds chain and mirror equal";
        Ok((!report.ok).then(|| Violation { rule, details: format!("{report:#?}\n") }))
    }
}
