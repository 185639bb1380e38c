//! `crtx doctor`: looks at everything that a command needs, and says how to mend what is wrong.

mod chain;
mod finding;
mod machine;
mod service;

use anyhow::ensure;
use serde_json::json;

use self::finding::State;
use crate::{
    arguments::ReadArgs,
    output::{self, AlreadySaid, note},
    progress::during,
    settings::Settings,
};

/// Fails if something is wrong.
pub async fn run(arguments: ReadArgs, settings: &Settings) -> anyhow::Result<()> {
    let (configuration, wallet) = machine::look(settings, &arguments.keypair);
    let mut findings = configuration;
    findings.extend(during("looking at the chain", chain::look(settings, &arguments.chain, wallet.as_ref())).await);
    findings.extend(during("looking at the service", service::look(settings, &arguments.service)).await);
    let wrong = findings.iter().filter(|finding| finding.state == State::Wrong).count();
    if arguments.output.json {
        let all = json!({"network": settings.network, "ok": wrong == 0, "checks": findings});
        output::json(&all)?;
    } else {
        findings.iter().for_each(|finding| output::page(&finding.lines()));
        match wrong {
            0 => note!("Nothing is wrong."),
            1 => note!("One thing is wrong."),
            count => note!("{count} things are wrong."),
        }
    }
    ensure!(wrong == 0, AlreadySaid);
    Ok(())
}
