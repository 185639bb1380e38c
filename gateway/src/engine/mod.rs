//! Takes one execution from its reservation to settlement or refund (`docs/walks/paid-call.md`).
//!
//! Every step is stored before its effect, and every transaction before it is sent. A worker that takes over reads
//! the chain and does not rely on the memory of an earlier attempt. Only the opening needs the caller's session key,
//! so any gateway can resume the later steps.

mod dispatch;
mod ended;
mod follow;
mod opening;
mod payees;
mod prices;
mod refund;
mod run;
mod settlement;
mod together;
mod transactions;
mod view;
mod windows;
mod work;

use std::{sync::Arc, time::Duration};

use crtx_chain::{ChainClient, FetchedAccount, Instructions, Layout};
use crtx_content::{ContentLocation, ContentStore};
use crtx_http::{
    Credentials,
    allowance::{Allowances, Rate},
    outbound::Outbound,
};
use crtx_store::{PgPool, executions::Executions};
use moka::sync::Cache;
use solana_pubkey::Pubkey;
use tokio_util::task::TaskTracker;

pub(crate) use self::{
    dispatch::SETTLE_MARGIN_S,
    ended::{Ended, EngineError, Stage, failure, interrupted, refunded_elsewhere},
    opening::{Agreed, ToOpen},
    payees::PayeeAccounts,
    prices::Prices,
    run::payer_of,
    together::Together,
    transactions::backoff,
    view::time_of,
    work::TimeSpent,
};
use crate::{
    admission::{
        fee_payer::FeePayerWatch,
        gate::Gate,
        refused::RefusedCalls,
        turns::{LARGE_REQUESTS, Turns},
    },
    agents::AgentDocuments,
    config::GatewayConfig,
    creator::Creators,
    error::GatewayError,
    figures::CallFigures,
};

const KNOWN_WALLETS: u64 = 10_000;

/// Token accounts that refunds create for wallets that closed theirs. Strangers decide how many, and keep the rent.
const CREATED_ACCOUNTS: Rate =
    Rate { policy: "created-accounts", burst: 20, quota: 50, window: Duration::from_secs(86_400) };

/// The parts that calls need; [`Gateway`](crate::Gateway) has the others. Its methods are in the files of their subjects.
pub(crate) struct Engine {
    pub config: GatewayConfig,
    pub executions: Executions,
    pub chain: ChainClient,
    pub instructions: Instructions,
    pub content: ContentStore,
    pub creators: Creators,
    pub documents: AgentDocuments,
    pub credentials: Credentials,
    /// The wallets of the keys that called last, which the chain is read for while the database looks the key up.
    pub wallets: Cache<Pubkey, Pubkey>,
    pub created_accounts: Allowances<()>,
    pub payees: PayeeAccounts,
    pub prices: Prices,
    pub together: Together,
    /// Limits the calls that this process works on.
    pub gate: Gate,
    /// Limits the long requests that arrive.
    pub large: Turns,
    pub refused: RefusedCalls,
    pub fee_payer: FeePayerWatch,
    pub figures: CallFigures,
    /// Calls in progress in this process. Shutdown waits for them.
    pub tasks: TaskTracker,
}

impl Engine {
    /// Creates an engine without connecting to anything. `money` is the pool for calls.
    pub fn new(config: GatewayConfig, outbound: Outbound, money: PgPool) -> Result<Self, GatewayError> {
        let executions = Executions::new(money, config.limits.lease);
        let chain = ChainClient::of_urls(&config.rpc_urls, config.limits.rpc_timeout);
        Ok(Self {
            created_accounts: Allowances::new(CREATED_ACCOUNTS),
            payees: PayeeAccounts::new(),
            prices: Prices::new(&config.limits),
            together: Together::new(config.limits.gather_window),
            chain,
            instructions: Instructions::new(config.addresses, config.usdc_mint),
            content: ContentStore::create(&config.content)?,
            // Long answers are on the disk of the content, because the system's temporary folder may be in memory.
            creators: Creators::new(
                outbound.clone(),
                match &config.content {
                    ContentLocation::Folder(folder) => folder.clone(),
                    ContentLocation::Bucket(_) => std::env::temp_dir(),
                },
            )?,
            documents: AgentDocuments::new(executions.clone(), outbound)?,
            credentials: Credentials::new(executions.pool().clone(), Arc::default()),
            wallets: Cache::new(KNOWN_WALLETS),
            gate: Gate::new(&config.limits),
            large: Turns::new(LARGE_REQUESTS),
            refused: RefusedCalls::new(config.limits.refused_calls_per_second),
            fee_payer: FeePayerWatch::new(&config.limits),
            figures: CallFigures::default(),
            tasks: TaskTracker::new(),
            executions,
            config,
        })
    }

    /// Decodes an account of the program. `None` if it is of another program or another kind.
    pub fn decode<A: Layout>(&self, account: Option<&FetchedAccount>) -> Option<A> {
        let account = account.filter(|account| account.owner == self.instructions.addresses.program_id())?;
        A::decode(&account.data).ok()
    }
}
