//! Carries one execution from its reservation to settlement or refund (`docs/ARCHITECTURE.md`, "A paid call").
//!
//! Every step is stored before its effect, and every transaction before it is sent. What a step finds is never taken
//! from memory of an earlier attempt: a worker that takes over asks the chain. The caller's session key is needed for
//! the opening alone; everything after it can be resumed by any gateway.

mod dispatch;
mod ended;
mod error;
mod failure;
mod follow;
mod fresh;
mod handover;
mod lease;
mod opening;
mod refund;
mod refund_account;
mod resumed;
mod settlement;
mod time_spent;
mod transactions;
mod unopened;
mod view;
mod work;

use std::path::{Path, PathBuf};

use crtx_chain::{ChainClient, FetchedAccount, Instructions, Layout, Timeouts};
use crtx_content::{ContentLocation, ContentStore};
use crtx_http::outbound::Outbound;
use crtx_store::{PgPool, executions::Executions};
use tokio_util::task::TaskTracker;

pub(crate) use self::{
    ended::{Ended, Stage},
    error::EngineError,
    failure::refunded_elsewhere,
    opening::PreparingOpening,
    time_spent::TimeSpent,
    transactions::backoff,
};
use crate::{
    admission::{fee_payer::FeePayerWatch, gate::Gate, refused::RefusedCalls},
    agents::AgentDocuments,
    config::GatewayConfig,
    creator::Creators,
    error::GatewayError,
    mirror::MirrorRefresh,
    payer::KnownPayers,
};

/// What calls are carried with. Its methods live with their subject.
pub(crate) struct Engine {
    pub config: GatewayConfig,
    pub executions: Executions,
    pub chain: ChainClient,
    pub instructions: Instructions,
    pub content: ContentStore,
    pub creators: Creators,
    pub documents: AgentDocuments,
    pub mirror: MirrorRefresh,
    pub known_payers: KnownPayers,
    /// Bounds the calls that this process works on.
    pub gate: Gate,
    pub refused: RefusedCalls,
    pub fee_payer: FeePayerWatch,
    /// Calls under way in this process: a stop waits for them.
    pub tasks: TaskTracker,
}

impl Engine {
    /// Puts an engine together. Nothing is connected to yet. `money` carries the calls; the mirror's rows are written
    /// through `mirror`, so that calls never wait for them.
    pub fn new(config: GatewayConfig, money: PgPool, mirror: PgPool) -> Result<Self, GatewayError> {
        let executions = Executions::new(money, config.limits.lease);
        let timeouts = Timeouts { request: config.limits.rpc_timeout, snapshot: config.limits.rpc_timeout };
        let chain = ChainClient::with_timeouts(&config.rpc_urls, timeouts);
        let outbound = Outbound::new(config.outbound);
        Ok(Self {
            mirror: MirrorRefresh::new(chain.clone(), mirror, config.addresses.program_id()),
            chain,
            instructions: Instructions::new(config.addresses, config.usdc_mint),
            content: ContentStore::create(&config.content)?,
            creators: Creators::new(outbound.clone(), folder_of_long_answers(&config.content))?,
            documents: AgentDocuments::new(executions.clone(), outbound)?,
            known_payers: KnownPayers::default(),
            gate: Gate::new(config.limits.admission.process),
            refused: RefusedCalls::new(config.limits.admission.refused),
            fee_payer: FeePayerWatch::new(config.limits.admission.fee_payer, config.limits.compute_unit_price),
            tasks: TaskTracker::new(),
            executions,
            config,
        })
    }

    /// An account of the program, if it is one and of that kind.
    pub fn decode<A: Layout>(&self, account: Option<&FetchedAccount>) -> Option<A> {
        let account = account.filter(|account| account.owner == self.instructions.addresses.program_id())?;
        A::decode(&account.data).ok()
    }
}

/// On the disk of the content, if it has one: the system's temporary folder may be memory.
fn folder_of_long_answers(content: &ContentLocation) -> PathBuf {
    content.folder().map_or_else(std::env::temp_dir, Path::to_path_buf)
}
