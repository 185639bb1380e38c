//! The chain's JSON-RPC: Surfpool's methods without those of an administrator, one of which ends the chain. The database
//! answers two of them, because Surfpool walks all transactions to find those of an address, and encodes the whole of a
//! transaction to tell its status.

use std::{fmt::Display, net::SocketAddr, str::FromStr, sync::Arc};

use anyhow::anyhow;
use crossbeam_channel::Sender;
use serde::de::DeserializeOwned;
use solana_pubkey::Pubkey;
use solana_rpc_client_api::{
    config::{RpcSignatureStatusConfig, RpcSignaturesForAddressConfig},
    response::{Response, RpcConfirmedTransactionStatusWithSignature, RpcResponseContext},
};
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
    add_own_method(&mut io, "getSignaturesForAddress", signatures_for_address, locker, database);
    add_own_method(&mut io, "getSignatureStatuses", signature_statuses, locker, database);
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

/// Replaces a method of Surfpool's.
fn add_own_method(
    io: &mut Io,
    name: &str,
    answer: fn(Params, &SurfnetSvmLocker, &ChainDatabase) -> Result<Value, Error>,
    locker: &SurfnetSvmLocker,
    database: &Arc<ChainDatabase>,
) {
    let (locker, database) = (locker.clone(), Arc::clone(database));
    io.add_method_with_meta(name, move |params: Params, _: Option<RunloopContext>| {
        std::future::ready(answer(params, &locker, &database))
    });
}

/// Confirmed and finalized see the same: there are no forks here.
fn signatures_for_address(params: Params, locker: &SurfnetSvmLocker, database: &ChainDatabase) -> Result<Value, Error> {
    let (address, config) = with_config::<String, RpcSignaturesForAddressConfig>(params)?;
    let config = config.unwrap_or_default();
    let address: Pubkey = parsed(&address)?;
    let before = config.before.as_deref().map(parsed).transpose()?;
    let until = config.until.as_deref().map(parsed).transpose()?;
    if config.commitment.is_some_and(|commitment| commitment.is_processed()) {
        return Err(Error::invalid_params("Method does not support commitment below `confirmed`"));
    }
    let limit = config.limit.unwrap_or(MAX_PAGE);
    if limit == 0 || limit > MAX_PAGE {
        return Err(Error::invalid_params(format!("Invalid limit; max {MAX_PAGE}")));
    }
    let slot = locker.with_svm_reader(|svm| svm.latest_epoch_info.absolute_slot);
    if config.min_context_slot.is_some_and(|wanted| wanted > slot) {
        return Err(Error::invalid_params(format!("Minimum context slot has not been reached: {slot}")));
    }
    let mut lines = database.about(&address, before, until, limit).map_err(internal)?;
    for line in &mut lines {
        line.confirmation_status = Some(confirmation(slot.saturating_sub(line.slot)));
    }
    if config.commitment.is_some_and(|commitment| commitment.is_finalized()) {
        lines.retain(|line| line.confirmation_status == Some(TransactionConfirmationStatus::Finalized));
    }
    serde_json::to_value(lines).map_err(|_| Error::internal_error())
}

/// What a transaction is when its block has so many blocks after it.
const fn confirmation(depth: u64) -> TransactionConfirmationStatus {
    match depth >= FINALIZATION_SLOT_THRESHOLD {
        true => TransactionConfirmationStatus::Finalized,
        false => TransactionConfirmationStatus::Confirmed,
    }
}

fn signature_statuses(params: Params, locker: &SurfnetSvmLocker, database: &ChainDatabase) -> Result<Value, Error> {
    // There is no other history than this one to search.
    let (signatures, _) = with_config::<Vec<String>, RpcSignatureStatusConfig>(params)?;
    if signatures.len() > MAX_STATUSES {
        return Err(Error::invalid_params(format!("Too many inputs provided; max {MAX_STATUSES}")));
    }
    let signatures = signatures.iter().map(|text| parsed(text)).collect::<Result<Vec<_>, _>>()?;
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

fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, Error> {
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
