//! What `crtx up` prints when everything runs: one JSON line for scripts, a page for people.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crtx_localnet::Marketplace;
use crtx_protocol::usdc::UsdcBase;
use serde::Serialize;
use solana_signer::Signer;

use crate::output::shell_word;

/// The JSON line. Its keys are a promise to scripts.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    /// Null without services.
    pub base_url: Option<String>,
    /// Null without services or dashboard.
    pub dashboard_url: Option<String>,
    pub api_key: String,
    pub unfunded_api_key: String,
    pub wallet: String,
    pub rpc_url: String,
    pub ws_url: String,
    pub program_id: String,
    pub usdc_mint: String,
    pub database_url: String,
    pub content_dir: PathBuf,
    /// With it a `crtx-server` joins this marketplace.
    pub server_config: PathBuf,
    pub ready_ms: u64,
    pub agents: Vec<ReadyAgent>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ReadyAgent {
    pub agent_id: String,
    pub name: String,
    pub price_per_call_usdc: UsdcBase,
    pub endpoint: String,
}

impl Ready {
    pub fn new(marketplace: &Marketplace, base_url: Option<String>, dashboard: bool, took: Duration) -> Self {
        let agents = marketplace.agents.iter().map(|agent| ReadyAgent {
            agent_id: agent.agent_id.to_string(),
            name: agent.name.to_owned(),
            price_per_call_usdc: UsdcBase(agent.price),
            endpoint: agent.endpoint.clone(),
        });
        Self {
            dashboard_url: base_url.as_ref().filter(|_| dashboard).map(|url| format!("{url}/")),
            base_url,
            api_key: marketplace.keys.demo.api_key.reveal(),
            unfunded_api_key: marketplace.keys.unfunded.api_key.reveal(),
            wallet: marketplace.keys.demo.wallet.pubkey().to_string(),
            rpc_url: marketplace.rpc_url.clone(),
            ws_url: marketplace.ws_url.clone(),
            program_id: marketplace.instructions.addresses.program_id().to_string(),
            usdc_mint: marketplace.instructions.usdc_mint.to_string(),
            database_url: marketplace.database_url.clone(),
            content_dir: marketplace.content_dir.clone(),
            server_config: marketplace.server_config.clone(),
            ready_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            agents: agents.collect(),
        }
    }

    /// The page for people, ending with commands that work when pasted.
    pub fn page(&self) -> String {
        let mut lines =
            vec![format!("crtx is ready after {} ms. Ctrl-C stops everything.", self.ready_ms), String::new()];
        if let Some(dashboard_url) = &self.dashboard_url {
            lines.push(format!("  dashboard  {dashboard_url}   (with test wallets for every role)"));
        }
        if let Some(base_url) = &self.base_url {
            let reference = if self.dashboard_url.is_some() { "docs" } else { "openapi.json" };
            lines.push(format!("  API        {base_url}   (description: {base_url}/{reference})"));
        }
        lines.extend([
            format!("  API key    {}", self.api_key),
            format!("  wallet     {}   (demo, 1 000 USDC at first)", self.wallet),
            format!("  Solana RPC {}   WebSocket {}", self.rpc_url, self.ws_url),
            format!("  program    {}   USDC mint {}", self.program_id, self.usdc_mint),
            format!("  database   {}", self.database_url),
            format!("  content    {}", self.content_dir.display()),
            String::new(),
            "  agents".to_owned(),
        ]);
        for agent in &self.agents {
            lines.push(format!(
                "    {:<20} {:>6} USDC  {}  {}",
                agent.name, agent.price_per_call_usdc, agent.agent_id, agent.endpoint
            ));
        }
        lines.push(String::new());
        lines.push(match &self.base_url {
            Some(base_url) => {
                let crtx = sibling("crtx");
                format!(
                    "Buy a result:\n\n\
                     {}\n\n\
                     Check it, from the chain and the content alone:\n\n\
                     {crtx} verify EXECUTION_ID\n\n\
                     Then, with the demo wallet:\n\n  \
                       make an agent of your own\n\
                     {crtx} agent init my-agent\n  \
                       make an API key of your own, with limits\n\
                     {crtx} key create my-key --per-call 0.10 --total 5\n  \
                       dispute a result that you paid for\n\
                     {crtx} dispute open EXECUTION_ID --text \"The numbers are wrong.\"",
                    self.curl(base_url)
                )
            }
            None => format!(
                "Start the services, in one process or in several with --role:\n\n{} --config {}",
                sibling("crtx-server"),
                shell_word(&self.server_config.to_string_lossy())
            ),
        });
        lines.join("\n")
    }

    fn curl(&self, base_url: &str) -> String {
        let agent = self.agents.first().map(|agent| agent.agent_id.as_str()).unwrap_or_default();
        format!(
            "curl -sS {base_url}/v1/agents/{agent}/execute -H 'Authorization: Bearer {}' -H 'Content-Type: application/json' \
             -d '{{\"task\": \"Paid by the call. Proven by the hash.\"}}'",
            self.api_key
        )
    }
}

/// A program of this project: in the folder of the one that runs, else wherever the shell finds it.
fn sibling(name: &str) -> String {
    let folder = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    let program = folder.map(|folder| folder.join(name)).filter(|program| program.exists());
    shell_word(&program.as_deref().map_or_else(|| name.into(), Path::to_string_lossy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready() -> Ready {
        let agent = ReadyAgent {
            agent_id: "agent1".to_owned(),
            name: "text-stats".to_owned(),
            price_per_call_usdc: UsdcBase(10_000),
            endpoint: "http://127.0.0.1:1/text-stats/execute".to_owned(),
        };
        let text = |name: &str| name.to_owned();
        Ready {
            base_url: Some(text("http://127.0.0.1:8080")),
            dashboard_url: Some(text("http://127.0.0.1:8080/")),
            api_key: text("crtx_test_1"),
            unfunded_api_key: text("crtx_test_2"),
            wallet: text("w"),
            rpc_url: text("r"),
            ws_url: text("s"),
            program_id: text("p"),
            usdc_mint: text("m"),
            database_url: text("d"),
            content_dir: PathBuf::from("/c"),
            server_config: PathBuf::from("/c.toml"),
            ready_ms: 7,
            agents: vec![agent],
        }
    }

    #[test]
    fn the_json_line_has_the_promised_keys_in_their_order() {
        let line = serde_json::to_string(&ready()).expect("json");
        assert!(!line.contains('\n'));
        let keys = [
            "base_url",
            "dashboard_url",
            "api_key",
            "unfunded_api_key",
            "wallet",
            "rpc_url",
            "ws_url",
            "program_id",
            "usdc_mint",
            "database_url",
            "content_dir",
            "server_config",
            "ready_ms",
            "agents",
            "agent_id",
            "name",
            "price_per_call_usdc",
            "endpoint",
        ];
        let places: Vec<_> = keys.iter().map(|key| line.find(&format!("\"{key}\":")).expect(key)).collect();
        assert!(places.is_sorted(), "{line}");
        assert!(line.contains("\"price_per_call_usdc\":0.01"), "{line}");
    }

    #[test]
    fn without_services_the_page_names_the_command_that_starts_them() {
        let page = Ready { base_url: None, dashboard_url: None, ..ready() }.page();
        assert!(page.ends_with("crtx-server --config /c.toml"), "{page}");
        assert!(!page.contains("curl"), "{page}");
    }

    #[test]
    fn the_page_names_the_description_that_this_network_serves() {
        assert!(ready().page().contains("(description: http://127.0.0.1:8080/docs)"));
        let page = Ready { dashboard_url: None, ..ready() }.page();
        assert!(page.contains("(description: http://127.0.0.1:8080/openapi.json)"), "{page}");
    }

    #[test]
    fn the_page_names_a_call_of_the_first_agent_and_its_verification() {
        let page = ready().page();
        let call = page.lines().find(|line| line.starts_with("curl ")).expect("a call");
        assert!(call.starts_with("curl -sS http://127.0.0.1:8080/v1/agents/agent1/execute"), "{call}");
        assert!(call.contains("Bearer crtx_test_1") && !page.contains("crtx_test_2"));
        for step in
            ["crtx verify EXECUTION_ID", "agent init my-agent", "key create my-key", "dispute open EXECUTION_ID"]
        {
            assert!(page.contains(step), "{page}");
        }
    }
}
