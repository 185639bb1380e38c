//! `GET /v1/wallets/{wallet}`.

use std::net::IpAddr;

use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderMap, Method, header},
    response::{IntoResponse, Response},
};
use chrono::Utc;
use crtx_chain::token::associated_token_address;
use crtx_http::{
    ApiError, ApiPath, ApiQuery, AuthState, ErrorBody, Peer,
    credentials::{bearer, session_cookie},
    session_token, signed_in,
};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    api_keys,
    reads::{self, NetworkRoles},
};
use solana_pubkey::Pubkey;

use crate::{
    holdings::Holding,
    state::ApiState,
    types,
    wallet_response::{WalletApproval, WalletResponse, WithdrawableCollateral},
};

/// Listings in the answer.
const MAX_AGENTS: u32 = 20;
/// Entries of what can be withdrawn or refunded.
const MAX_CLAIMS: u32 = 50;

/// A wallet: balance and approval, agents, roles, and totals. With a session of the same wallet also what it can withdraw
/// and get back. A wallet that did nothing has zeros.
#[utoipa::path(
    get, path = "/v1/wallets/{wallet}", tag = "wallets", operation_id = "get_wallet",
    security((), ("session" = []), ("session_cookie" = [])),
    params(("wallet" = String, Path, description = "Address of the wallet")),
    responses(
        (status = 200, description = "The wallet", body = WalletResponse),
        (status = 400, description = "`invalid_request`: not an address", body = ErrorBody),
        (status = 401, description = "`unauthorized`: the session that was sent does not hold", body = ErrorBody),
        (status = 503, description = "`unavailable`: too many expensive reads, or no database; `Retry-After`", body = ErrorBody)
    )
)]
pub async fn get_wallet(
    State(state): State<ApiState>,
    ApiPath(wallet): ApiPath<String>,
    ApiQuery(()): ApiQuery<()>,
    peer: Option<Extension<Peer>>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let wallet = types::wallet(&wallet)?;
    let peer = peer.map(|Extension(Peer(address))| address);
    let is_own = signed_in_wallet(&state, peer, &method, &headers).await? == Some(wallet);
    let mut connection = state.shared.connections.list(peer).await?;
    let (withdrawable, refundable) = if is_own {
        let now = Utc::now();
        let delisted = reads::owned_agents(&mut *connection, &wallet, true, MAX_CLAIMS).await?;
        let withdrawable = delisted.into_iter().map(|agent| WithdrawableCollateral::new(agent, now)).collect();
        (Some(withdrawable), Some(reads::overdue_executions(&mut *connection, &wallet, MAX_CLAIMS).await?))
    } else {
        (None, None)
    };
    let configuration = reads::configuration(&mut *connection).await?;
    let totals = reads::wallet_totals(&mut *connection, &wallet).await?;
    let creator = reads::wallet_profile(&mut *connection, &wallet).await?;
    let agents = reads::owned_agents(&mut *connection, &wallet, false, MAX_AGENTS).await?;
    let needed = api_keys::needed(&mut *connection, &wallet, Utc::now().timestamp()).await?;
    connection.done();
    let missing = || ApiError::unavailable("the mirror has no configuration of the program yet");
    let configuration = configuration.ok_or_else(missing)?;
    let mint = configuration.usdc_mint.parse().map_err(|_| missing())?;
    let holding = state.shared.holdings.of(wallet, mint, peer).await;
    let answer = Json(WalletResponse {
        wallet: wallet.to_string(),
        usdc_account: associated_token_address(&wallet, &mint).to_string(),
        spender: state.shared.deployment.addresses.spender(&wallet).to_string(),
        approval: approval(needed, holding),
        roles: roles(&configuration.roles, &wallet),
        creator,
        agents_total: totals.agents,
        agents: agents.into_iter().map(Into::into).collect(),
        totals,
        withdrawable,
        refundable,
    });
    Ok(if is_own { ([(header::CACHE_CONTROL, "no-store")], answer).into_response() } else { answer.into_response() })
}

/// The wallet of the session, if the request presents one. An API key is not looked at: it shows nothing more.
async fn signed_in_wallet(
    state: &ApiState,
    client: Option<IpAddr>,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Option<Pubkey>, ApiError> {
    let presents_session = match bearer(headers, "SESSION_TOKEN")? {
        Some(secret) => secret.starts_with(session_token::PREFIX),
        None => session_cookie(headers, state.site())?.is_some(),
    };
    if !presents_session {
        return Ok(None);
    }
    signed_in::authenticate(method, headers, client, state).await.map(|session| Some(session.wallet))
}

fn approval(needed: Option<UsdcBase>, holding: Option<Holding>) -> WalletApproval {
    let approved = holding.map(|holding| holding.approved);
    let short = |(needed, approved): (UsdcBase, UsdcBase)| UsdcBase(needed.0.saturating_sub(approved.0));
    WalletApproval {
        holding_usdc: holding.map(|holding| holding.holding),
        approved_usdc: approved,
        needed_usdc: needed,
        short_usdc: needed.zip(approved).map(short),
    }
}

fn roles(roles: &NetworkRoles, wallet: &Pubkey) -> Vec<&'static str> {
    let wallet = wallet.to_string();
    let holders = [
        ("admin", Some(&roles.admin)),
        ("pending_admin", roles.pending_admin.as_ref()),
        ("resolver", roles.resolver.as_ref()),
        ("gateway_authority", Some(&roles.gateway_authority)),
        ("treasury_owner", Some(&roles.treasury_owner)),
        ("insurance_owner", Some(&roles.insurance_owner)),
    ];
    holders.into_iter().filter(|(_, holder)| *holder == Some(&wallet)).map(|(role, _)| role).collect()
}
