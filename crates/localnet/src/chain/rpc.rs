//! The chain's JSON-RPC: Surfpool's methods without those of an administrator, one of which ends the chain, and except
//! two that are answered from the database. For transactions by
//! address Surfpool walks all transactions, and for the status of one it encodes the whole of it.

use std::{fmt::Display, net::SocketAddr, sync::Arc};

use anyhow::anyhow;
use crossbeam_channel::Sender;
use serde::{Deserialize, de::DeserializeOwned};
use solana_pubkey::Pubkey;
use solana_rpc_client_api::response::{Response, RpcConfirmedTransactionStatusWithSignature, RpcResponseContext};
use solana_signature::Signature;
use solana_transaction_error::TransactionError;
use solana_transaction_status::{TransactionConfirmationStatus, TransactionStatus};
use surfpool_core::{
    jsonrpc_core::{Error, MetaIoHandler, Params, Value},
    jsonrpc_http_server::{DomainsValidation, Server, ServerBuilder, cors::AccessControlAllowOrigin},
    rpc::{
        RunloopContext, SurfpoolMiddleware,
        accounts_data::{AccountsData, SurfpoolAccountsDataRpc},
        accounts_scan::{AccountsScan, SurfpoolAccountsScanRpc},
        bank_data::{BankData, SurfpoolBankDataRpc},
        full::{Full, SurfpoolFullRpc},
        jito::{Jito, SurfpoolJitoRpc},
        minimal::{Minimal, SurfpoolMinimalRpc},
        surfnet_cheatcodes::{SurfnetCheatcodes, SurfnetCheatcodesRpc},
    },
    surfnet::{FINALIZATION_SLOT_THRESHOLD, locker::SurfnetSvmLocker},
};
use surfpool_types::{RpcConfig, SimnetCommand};

use super::database::ChainDatabase;

const THREADS: usize = 4;
const MAX_BODY_BYTES: usize = 15 * 1024 * 1024;
/// What a page holds at most, and by default.
const MAX_PAGE: usize = 1_000;
/// Signatures whose status one question asks for.
const MAX_STATUSES: usize = 256;

type Io = MetaIoHandler<Option<RunloopContext>, SurfpoolMiddleware>;

/// Pages that may read the answers: the dashboard, from whichever port of this machine it is served. A page of another
/// site would otherwise use the cheat codes of every developer who visits it.
const ORIGINS: [&str; 2] = ["http://127.0.0.1:*", "http://localhost:*"];

/// Serves on 127.0.0.1 until the server is closed. Requests with another `Host` are refused, because a name of a stranger
/// can resolve to this address.
pub fn serve(
    port: u16,
    ws_port: u16,
    locker: &SurfnetSvmLocker,
    commands: &Sender<SimnetCommand>,
    database: &Arc<ChainDatabase>,
) -> anyhow::Result<Server> {
    let config = RpcConfig { bind_host: "127.0.0.1".to_owned(), bind_port: port, ws_port, ..RpcConfig::default() };
    // Nobody listens: there are no plugins here, and the methods about them answer with an error.
    let (plugins, _) = crossbeam_channel::unbounded();
    let mut io = Io::with_middleware(SurfpoolMiddleware::new(locker.clone(), commands, &config, &None, plugins));
    add_surfpools_methods(&mut io);
    add_signatures_for_address(&mut io, locker.clone(), Arc::clone(database));
    add_signature_statuses(&mut io, locker.clone(), Arc::clone(database));
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let start = move || {
        ServerBuilder::new(io)
            .cors(DomainsValidation::AllowOnly(ORIGINS.map(AccessControlAllowOrigin::from).into()))
            .allowed_hosts(DomainsValidation::AllowOnly(vec![])) // The server adds its own address and `localhost`.
            .threads(THREADS)
            .max_request_body_size(MAX_BODY_BYTES)
            .start_http(&address)
    };
    // On a thread without a runtime: the server makes its own.
    let started = std::thread::spawn(start).join().map_err(|_| anyhow!("the RPC server panicked"))?;
    started.map_err(|error| anyhow!("the RPC server does not start on {address}: {error}"))
}

fn add_surfpools_methods(io: &mut Io) {
    // One of the cheat codes lists all of them.
    let names = Arc::default();
    let cheatcodes = SurfnetCheatcodesRpc { registered_methods: Arc::clone(&names) };
    io.extend_with(cheatcodes.to_delegate());
    if let Ok(mut names) = names.write() {
        names.extend(io.iter().map(|(name, _)| name.clone()));
    }
    io.extend_with(SurfpoolMinimalRpc.to_delegate());
    io.extend_with(SurfpoolFullRpc.to_delegate());
    io.extend_with(SurfpoolJitoRpc.to_delegate());
    io.extend_with(SurfpoolAccountsDataRpc.to_delegate());
    io.extend_with(SurfpoolAccountsScanRpc.to_delegate());
    io.extend_with(SurfpoolBankDataRpc.to_delegate());
}

/// The second parameter of `getSignaturesForAddress`. Confirmed and finalized see the same: there are no forks here.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PageConfig {
    before: Option<String>,
    until: Option<String>,
    limit: Option<usize>,
    commitment: Option<String>,
    min_context_slot: Option<u64>,
}

fn add_signatures_for_address(io: &mut Io, locker: SurfnetSvmLocker, database: Arc<ChainDatabase>) {
    io.add_method_with_meta("getSignaturesForAddress", move |params: Params, _: Option<RunloopContext>| {
        let answer = signatures_for_address(params, &locker, &database);
        async move { answer }
    });
}

fn signatures_for_address(params: Params, locker: &SurfnetSvmLocker, database: &ChainDatabase) -> Result<Value, Error> {
    let PageRequest { address, before, until, config } = page_of(params)?;
    let limit = config.limit.unwrap_or(MAX_PAGE);
    if limit == 0 || limit > MAX_PAGE {
        return Err(Error::invalid_params(format!("Invalid limit; max {MAX_PAGE}")));
    }
    let slot = locker.with_svm_reader(|svm| svm.latest_epoch_info.absolute_slot);
    if config.min_context_slot.is_some_and(|wanted| wanted > slot) {
        return Err(Error::invalid_params(format!("Minimum context slot has not been reached: {slot}")));
    }
    let found = database.about(&address, before, until, limit).map_err(internal)?;
    let final_only = config.commitment.as_deref() == Some("finalized");
    let lines: Vec<_> = found
        .into_iter()
        .map(|line| with_status(line, slot))
        .filter(|line| !final_only || line.confirmation_status == Some(TransactionConfirmationStatus::Finalized))
        .collect();
    serde_json::to_value(lines).map_err(|_| Error::internal_error())
}

fn with_status(
    mut line: RpcConfirmedTransactionStatusWithSignature,
    slot: u64,
) -> RpcConfirmedTransactionStatusWithSignature {
    line.confirmation_status = Some(confirmation(slot.saturating_sub(line.slot)));
    line
}

/// What a transaction is when its block has so many blocks after it.
const fn confirmation(depth: u64) -> TransactionConfirmationStatus {
    match depth >= FINALIZATION_SLOT_THRESHOLD {
        true => TransactionConfirmationStatus::Finalized,
        false => TransactionConfirmationStatus::Confirmed,
    }
}

/// The second parameter of `getSignatureStatuses`: read to refuse what makes no sense. There is no other history than
/// this one to search.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StatusConfig {
    #[serde(rename = "searchTransactionHistory")]
    _search: bool,
}

fn add_signature_statuses(io: &mut Io, locker: SurfnetSvmLocker, database: Arc<ChainDatabase>) {
    io.add_method_with_meta("getSignatureStatuses", move |params: Params, _: Option<RunloopContext>| {
        let answer = signature_statuses(params, &locker, &database);
        async move { answer }
    });
}

fn signature_statuses(params: Params, locker: &SurfnetSvmLocker, database: &ChainDatabase) -> Result<Value, Error> {
    let (signatures, _) = with_config::<Vec<String>, StatusConfig>(params)?;
    if signatures.len() > MAX_STATUSES {
        return Err(Error::invalid_params(format!("Too many inputs provided; max {MAX_STATUSES}")));
    }
    let signatures = signatures.iter().map(|text| signature_of(text)).collect::<Result<Vec<_>, _>>()?;
    // Under one lock, so that no status is newer than the slot of the answer.
    let (slot, found) = locker.with_svm_reader(|svm| {
        let found: Result<Vec<_>, _> = signatures.iter().map(|signature| database.line(signature)).collect();
        (svm.latest_epoch_info.absolute_slot, found)
    });
    let statuses: Vec<_> = found.map_err(internal)?.into_iter().map(|line| status_at(line?, slot)).collect();
    serde_json::to_value(Response { context: RpcResponseContext::new(slot), value: statuses })
        .map_err(|_| Error::internal_error())
}

/// None for what is not confirmed yet: like other nodes, which may still drop it.
fn status_at(line: RpcConfirmedTransactionStatusWithSignature, slot: u64) -> Option<TransactionStatus> {
    let depth = slot.checked_sub(line.slot).filter(|depth| *depth > 0)?;
    let confirmation = confirmation(depth);
    let is_final = confirmation == TransactionConfirmationStatus::Finalized;
    let error = line.err.map(TransactionError::from);
    Some(TransactionStatus {
        slot: line.slot,
        confirmations: usize::try_from(depth).ok().filter(|_| !is_final),
        err: error.clone(),
        status: error.map_or(Ok(()), Err),
        confirmation_status: Some(confirmation),
    })
}

fn signature_of(text: &str) -> Result<Signature, Error> {
    text.parse().map_err(|error| Error::invalid_params(format!("Invalid param: {error}")))
}

fn internal(error: impl Display) -> Error {
    Error { message: format!("{error:#}"), ..Error::internal_error() }
}

/// What is asked about, and the configuration, which may be left out.
fn with_config<T: DeserializeOwned, C: DeserializeOwned>(params: Params) -> Result<(T, Option<C>), Error> {
    let alone = matches!(&params, Params::Array(values) if values.len() == 1);
    match alone {
        true => Ok((params.parse::<(T,)>()?.0, None)),
        false => params.parse(),
    }
}

struct PageRequest {
    address: Pubkey,
    before: Option<Signature>,
    until: Option<Signature>,
    config: PageConfig,
}

fn page_of(params: Params) -> Result<PageRequest, Error> {
    let (address, config) = with_config::<String, PageConfig>(params)?;
    let address = address.parse().map_err(|error| Error::invalid_params(format!("Invalid param: {error}")))?;
    let config = config.unwrap_or_default();
    let before = config.before.as_deref().map(signature_of).transpose()?;
    let until = config.until.as_deref().map(signature_of).transpose()?;
    if config.commitment.as_deref() == Some("processed") {
        return Err(Error::invalid_params("Method does not support commitment below `confirmed`"));
    }
    Ok(PageRequest { address, before, until, config })
}
