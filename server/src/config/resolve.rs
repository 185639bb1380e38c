//! Settings as the parts of a process take them. What a role needs and nobody set is a problem, too.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};

use chrono::TimeDelta;
use crtx_api::Deployment;
use crtx_chain::RpcUrls;
use crtx_content::{Bucket, BucketSettings, ContentLocation, ContentSources};
use crtx_gateway::{GatewayConfig, GatewayKeys, Limits};
use crtx_http::{Links, outbound::OutboundPolicy};
use crtx_mirror::{
    IndexerConfig,
    source::{Deadlines, YellowstoneAddress},
    sync::SyncSettings,
};
use crtx_protocol::address::Addresses;
use crtx_store::{
    admission::{CallLimits, PerSubject},
    pools::PoolSizes,
};
use solana_pubkey::Pubkey;

use super::{
    load::{Loaded, Problems},
    model::ServerSettings,
    secret::Secret,
    values::{DatabaseUrl, NetworkSetting},
};
use crate::{role::Role, service::ServiceConfig};

/// Everything that starts a process.
pub struct Resolved {
    pub listen: SocketAddr,
    pub database_url: Secret<DatabaseUrl>,
    pub standby_url: Option<Secret<DatabaseUrl>>,
    pub pool_sizes: PoolSizes,
    pub service: ServiceConfig,
}

/// Checks the settings against the roles of the process.
pub fn resolve(loaded: &Loaded) -> Result<Resolved, Problems> {
    let mut check = ConfigChecker { loaded, problems: Vec::new() };
    let resolved = check.all();
    match resolved {
        Some(resolved) if check.problems.is_empty() => Ok(resolved),
        _ => Err(Problems(check.problems)),
    }
}

struct ConfigChecker<'a> {
    loaded: &'a Loaded,
    problems: Vec<String>,
}

impl ConfigChecker<'_> {
    /// `None` only if there is a problem.
    fn all(&mut self) -> Option<Resolved> {
        let settings = &self.loaded.settings;
        let roles: BTreeSet<Role> = settings.role.iter().copied().collect();
        if roles.is_empty() {
            self.problem("role", "no role is named");
        }
        let network = self.required("network", settings.network.as_ref(), "every process").copied();
        let database_url = self.required("database.url", settings.database.url.as_ref(), "every process").cloned();
        let rpc_urls = self.required("rpc.urls", settings.rpc.urls.as_ref(), "every process").cloned();
        let links = self.links(&roles);
        let works_on_calls = roles.contains(&Role::Api) || roles.contains(&Role::Worker);
        let gateway = if works_on_calls { self.gateway_needs() } else { None };
        let ws_urls = if roles.contains(&Role::Indexer) { self.ws_urls() } else { None };
        let content = self.content(works_on_calls);
        let (network, rpc_urls, links) = (network?, rpc_urls?.reveal().clone(), links?);
        let outbound = match network {
            NetworkSetting::Local => OutboundPolicy::LOCAL,
            NetworkSetting::Devnet | NetworkSetting::Mainnet => {
                OutboundPolicy::STRICT.with_ports(settings.outbound.ports.clone())
            }
        };
        let gateway = gateway.zip(content.clone()).map(|((usdc_mint, keypair), content)| GatewayConfig {
            rpc_urls: rpc_urls.clone(),
            addresses: Addresses::new(settings.program.id.0),
            usdc_mint,
            keypair,
            cluster: network.cluster(),
            outbound,
            links: links.clone(),
            content,
            limits: limits(settings),
        });
        let indexer = ws_urls.map(|ws_urls| IndexerConfig {
            sync: SyncSettings {
                accept_mass_closing: settings.indexer.accept_mass_closing,
                accept_new_genesis: settings.indexer.accept_new_genesis,
                ..SyncSettings::new(Duration::from_secs(settings.indexer.resync_seconds))
            },
            audit_interval: Duration::from_secs(settings.indexer.audit_seconds),
            events_kept: TimeDelta::days(i64::try_from(settings.indexer.events_kept_days).unwrap_or(i64::MAX)),
            yellowstone: settings.rpc.yellowstone_url.as_ref().map(|url| YellowstoneAddress {
                url: url.reveal().0.clone(),
                token: settings.rpc.yellowstone_token.as_ref().map(|token| token.reveal().clone()),
            }),
            deadlines: Deadlines {
                silence: Duration::from_secs(settings.indexer.silence_seconds),
                ..Deadlines::default()
            },
            outbound,
            content: ContentSources {
                store: content,
                base_url: settings.content.base_url.as_ref().map(|url| url.0.to_string()),
            },
            ..IndexerConfig::new(rpc_urls.clone(), &ws_urls, settings.program.id.0)
        });
        Some(Resolved {
            listen: settings.listen,
            database_url: database_url?,
            standby_url: settings.database.standby_url.clone(),
            pool_sizes: PoolSizes::of(settings.database.connections),
            service: ServiceConfig {
                roles,
                deployment: Deployment {
                    cluster: network.cluster(),
                    addresses: Addresses::new(settings.program.id.0),
                    links,
                    public_rpc_url: public_rpc_url(settings, &rpc_urls),
                    rpc_urls,
                    outbound_addresses: settings.gateway.outbound_addresses.iter().map(|it| it.0.to_string()).collect(),
                    webhook_keys: gateway.as_ref().map(GatewayConfig::webhook_keys).unwrap_or_default(),
                },
                gateway,
                indexer,
                trusted_proxies: settings.trusted_proxies.iter().map(|range| range.0).collect(),
                metrics_listen: settings.metrics.listen,
                other_network_url: settings.other_network_url.as_ref().map(|url| url.0.to_string()),
                dashboard: settings.dashboard.enabled,
                local: None,
                max_lag: Some(settings.indexer.max_lag_seconds).filter(|lag| *lag > 0).map(Duration::from_secs),
            },
        })
    }

    /// What a gateway needs in addition to the settings of every process.
    fn gateway_needs(&mut self) -> Option<(Pubkey, GatewayKeys)> {
        let settings = &self.loaded.settings;
        let who = "the roles `api` and `worker`";
        let usdc_mint = self.required("program.usdc_mint", settings.program.usdc_mint.as_ref(), who);
        let keypair = self.required("gateway.keypair", settings.gateway.keypair.as_ref(), who);
        let other = settings.gateway.other_keypair.as_ref();
        let [first, other] = [keypair, other].map(|keypair| keypair.map(|keypair| Arc::clone(&keypair.reveal().0)));
        Some((usdc_mint?.0, GatewayKeys::new(first?, other)))
    }

    /// Where content is. `None` is a problem only if it `is_required`.
    fn content(&mut self, is_required: bool) -> Option<ContentLocation> {
        let settings = &self.loaded.settings.content;
        let Some(name) = &settings.s3_bucket else {
            let who = "the roles `api` and `worker`";
            let folder = settings.dir.clone().map(ContentLocation::Folder);
            if is_required {
                self.required("content.dir", folder.as_ref(), who);
            }
            return folder;
        };
        if settings.dir.is_some() {
            self.problem("content.s3_bucket", "content is in a folder or in a bucket; `content.dir` is set, too");
        }
        let secret = |value: &Option<Secret<String>>| value.as_ref().map(|value| value.reveal().clone());
        let credentials = match (secret(&settings.s3_access_key_id), secret(&settings.s3_secret_access_key)) {
            (Some(id), Some(secret)) => Some((id, secret)),
            (None, None) => None,
            _ => {
                self.problem("content.s3_access_key_id", "an access key and its secret are set together");
                None
            }
        };
        let bucket = Bucket::new(&BucketSettings {
            name: name.clone(),
            prefix: settings.s3_prefix.clone().unwrap_or_default(),
            endpoint: settings.s3_endpoint.as_ref().map(|url| url.0.to_string()),
            region: settings.s3_region.clone(),
            credentials,
        });
        match bucket {
            Ok(bucket) => Some(ContentLocation::Bucket(bucket)),
            Err(error) => {
                self.problem("content.s3_bucket", error);
                None
            }
        }
    }

    /// What an indexer needs in addition to them.
    fn ws_urls(&mut self) -> Option<String> {
        let settings = &self.loaded.settings.rpc;
        let ws_urls = self.required("rpc.ws_url", settings.ws_url.as_ref(), "the role `indexer`")?.reveal();
        if settings.urls.as_ref().is_some_and(|urls| ws_urls.0.len() > urls.reveal().iter().count()) {
            self.problem("rpc.ws_url", "it has more URLs than `rpc.urls`");
        }
        Some(ws_urls.0.join(","))
    }

    fn links(&mut self, roles: &BTreeSet<Role>) -> Option<Links> {
        let settings = &self.loaded.settings;
        let local = settings.network == Some(NetworkSetting::Local);
        let public_url = match &settings.public_url {
            Some(url) => url.0.to_string(),
            None if local || !roles.contains(&Role::Api) => format!("http://{}", settings.listen),
            // Said once: without a network nothing is known about its clients.
            None if settings.network.is_none() => return None,
            None => {
                self.problem("public_url", "it is not set; needed by the role `api`");
                return None;
            }
        };
        let links = match (&settings.explorer_url, settings.network?) {
            (Some(url), _) => Links::new(url, &public_url),
            (None, NetworkSetting::Local) => {
                let node = settings.rpc.urls.as_ref().map_or("", |urls| urls.reveal().first());
                Ok(Links::local(&public_url, node))
            }
            (None, NetworkSetting::Mainnet) => Links::new("https://explorer.solana.com/address/{address}", &public_url),
            (None, NetworkSetting::Devnet) => {
                Links::new("https://explorer.solana.com/address/{address}?cluster=devnet", &public_url)
            }
        };
        links.map_err(|error| self.problem("explorer_url", error)).ok()
    }

    fn required<'b, T>(&mut self, key: &str, value: Option<&'b T>, who: &str) -> Option<&'b T> {
        if value.is_none() {
            self.problem(key, format!("it is not set; needed by {who}"));
        }
        value
    }

    fn problem(&mut self, key: &str, text: impl std::fmt::Display) {
        self.problems.push(self.loaded.problem(key, text));
    }
}

/// The node of a local network is there for everybody who reaches it; another one may carry a provider's key.
fn public_rpc_url(settings: &ServerSettings, rpc_urls: &RpcUrls) -> Option<String> {
    match &settings.rpc.public_url {
        Some(url) => Some(url.0.to_string()),
        None => (settings.network == Some(NetworkSetting::Local)).then(|| rpc_urls.first().to_owned()),
    }
}

fn limits(settings: &ServerSettings) -> Limits {
    let (gateway, limits) = (&settings.gateway, settings.limits);
    let per_subject = |wallet: u32, agent: u32| PerSubject { key: wallet, wallet, agent };
    Limits {
        compute_unit_price: gateway.compute_unit_price,
        max_compute_unit_price: gateway.max_compute_unit_price,
        housekeeping_every: Duration::from_secs(gateway.housekeeping_seconds),
        lamports_for_others_per_day: gateway.lamports_for_others_per_day,
        calls: CallLimits {
            under_way: per_subject(limits.wallet_calls, limits.agent_calls),
            failures_per_hour: per_subject(limits.wallet_failures, limits.agent_failures),
        },
        calls_at_once: limits.calls_at_once,
        calls_queued: limits.calls_queued,
        refused_calls_per_second: limits.refused_calls_per_second,
        fee_low_calls: limits.fee_low_calls,
        fee_reserve_lamports: limits.fee_reserve_lamports,
        ..Limits::default()
    }
}
