//! `crtx agent test`: asks the creator's service as the marketplace does, without any transaction.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, ensure};
use crtx_chain::urls;
use crtx_conformance::{Check, CheckName, Example, Report, TestedEndpoint};
use crtx_http::outbound::{Outbound, OutboundPolicy};
use serde_json::Value;
use solana_pubkey::Pubkey;
use url::Url;

use super::{junit, manifest::Manifest};
use crate::{
    arguments::OutputArgs,
    output::{self, AlreadySaid, printable},
    progress::during,
    settings::{Network, Settings, is_on_this_machine},
};

/// How long a service may take to name its key.
const ASK_LIMIT: Duration = Duration::from_secs(3);
const MAX_KEY_ANSWER_BYTES: usize = 64 * 1024;

/// Prints the report, and writes it to the file. Status 1 if a check failed.
pub async fn run(path: &Path, junit: Option<&Path>, output: OutputArgs, settings: &Settings) -> anyhow::Result<()> {
    let manifest = Manifest::read(path)?;
    let report = report(&manifest, settings.network).await?;
    if let Some(file) = junit {
        fs::write(file, junit::of(&report, &manifest.metadata.name))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if output.json {
        output::json(&report)?;
    } else {
        output::page(&page(&report));
    }
    ensure!(report.passed, AlreadySaid);
    Ok(())
}

pub async fn report(manifest: &Manifest, network: Network) -> anyhow::Result<Report> {
    let policy = match network {
        Network::Local => OutboundPolicy::LOCAL,
        Network::Devnet | Network::Mainnet => OutboundPolicy::STRICT,
    };
    let test = &manifest.test;
    let subject = TestedEndpoint {
        endpoint: manifest.metadata.endpoint.clone(),
        result_key: manifest.result_key,
        binding: manifest.binding,
        input_schema: manifest.metadata.input_schema.clone(),
        output_schema: manifest.metadata.output_schema.clone(),
        timeout_seconds: manifest.timeout_seconds,
        example: Example { task: test.task.clone(), parameters: test.parameters.clone() },
        failing: test.failing.clone(),
    };
    let outbound = Outbound::new(policy);
    let asking = crtx_conformance::run(&subject, &outbound);
    let report = during(format!("asking {}", subject.endpoint), asking).await;
    let mut report = report.context("the service could not be tested")?;
    name_another_service(&mut report, &subject, policy).await;
    Ok(report)
}

/// A signature of another key is most often of another service on the same port of this machine.
async fn name_another_service(report: &mut Report, subject: &TestedEndpoint, policy: OutboundPolicy) {
    let failed = |check: &&mut Check| check.name == CheckName::ResultKey && check.has_failed();
    let Some(check) = report.checks.iter_mut().find(failed) else { return };
    let Ok(url) = Url::parse(&subject.endpoint) else { return };
    if !is_on_this_machine(&url) {
        return;
    }
    let (here, listed) = (urls::host(&subject.endpoint), subject.result_key);
    let fix = check.fix.take().unwrap_or_default();
    check.fix = Some(match key_of(&url, policy).await.filter(|key| *key != listed) {
        Some(other) => format!(
            "Another service answers at {here}: it signs as {other}, and this agent has the key {listed}. Stop it, or \
             give this agent another port in agent.toml and its service the same one with PORT."
        ),
        None => {
            format!("{fix} Or another service answers at {here} instead of this agent's: look which one listens there.")
        }
    });
}

/// The key that an example service names where it is asked for nothing.
async fn key_of(endpoint: &Url, policy: OutboundPolicy) -> Option<Pubkey> {
    let response = Outbound::new(policy).client(ASK_LIMIT).ok()?.get(endpoint.clone()).send().await.ok()?;
    let body = crtx_download::read(response, MAX_KEY_ANSWER_BYTES).await.ok()?;
    let answer: Value = serde_json::from_slice(&body).ok()?;
    answer.get("result_key")?.as_str()?.parse().ok()
}

/// The report for people: one line for each check, and for a failed one what to do.
pub fn page(report: &Report) -> String {
    let mut lines: Vec<String> = report.checks.iter().flat_map(lines_of).collect();
    let failed = report.failed().count();
    let skipped = report.checks.iter().filter(|check| check.skipped.is_some()).count();
    let passed = report.checks.len().saturating_sub(failed).saturating_sub(skipped);
    lines.push(String::new());
    lines.push(format!(
        "{passed} passed, {failed} failed, {skipped} skipped, {} requests in {} ms",
        report.requests, report.duration_ms
    ));
    lines.join("\n")
}

fn lines_of(check: &Check) -> Vec<String> {
    let (mark, rest) = match (check.passed, &check.skipped) {
        (Some(true), _) => ("ok  ", check.received.clone().unwrap_or_default()),
        (Some(false), _) => ("FAIL", check.expected.clone()),
        (None, reason) => ("skip", reason.clone().unwrap_or_default()),
    };
    let mut lines = vec![format!("{mark}  {:<20} {}", check.name, printable(&rest))];
    if check.has_failed() {
        let more = [("received", &check.received), ("fix", &check.fix)];
        let more = more.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        lines.extend(more.map(|(name, text)| format!("      {name}: {}", printable(text))));
    }
    lines
}
