//! `GET /v1/wallets/{wallet}`.

use axum::{
    Extension, Json,
    extract::State,
    http::{HeaderMap, Method, header},
    response::{IntoResponse, Response},
};
use chrono::Utc;
use crtx_chain::token::associated_token_address;
use crtx_http::{ApiError, ApiPath, ApiQuery, ErrorBody, Peer, signed_in};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::{
    api_keys,
    reads::{self, NetworkRoles, OverdueExecution, OwnedAgent, WalletProfile, WalletTotals, WithdrawableCollateral},
};
use serde::Serialize;
use solana_pubkey::Pubkey;
use utoipa::ToSchema;

use crate::{holdings::Holding, state::ApiState, types};

/// Listings in the answer.
const MAX_AGENTS: u32 = 20;
/// Entries of what can be withdrawn or refunded.
const MAX_CLAIMS: u32 = 50;

/// A wallet: as a caller, a creator, and in the roles of the marketplace.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WalletResponse {
    pub wallet: String,
    /// The wallet's associated USDC account, which pays for calls.
    pub usdc_account: String,
    /// The address that the wallet approves once for all of its keys.
    pub spender: String,
    pub approval: WalletApproval,
    /// Of `admin`, `pending_admin`, `resolver`, `gateway_authority`, `treasury_owner` and `insurance_owner`.
    pub roles: Vec<&'static str>,
    /// null if the wallet has no profile.
    #[schema(required)]
    pub creator: Option<WalletProfile>,
    /// Listings that are not closed.
    pub agents_total: u64,
    /// The newest 20 of them.
    pub agents: Vec<OwnedAgent>,
    pub totals: WalletTotals,
    /// Only for the wallet itself: its delisted agents that still have collateral, at most 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdrawable: Option<Vec<WithdrawableCollateral>>,
    /// Only for the wallet itself: its open executions past their deadline, at most 50, longest first. Anybody can
    /// refund them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refundable: Option<Vec<OverdueExecution>>,
}

/// All keys of a wallet spend from one token approval.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct WalletApproval {
    /// What the wallet holds. null if the chain did not answer in time.
    #[schema(required, value_type = Option<f64>)]
    pub holding_usdc: Option<UsdcBase>,
    /// What the wallet lets its spender address move. null if the chain did not answer in time.
    #[schema(required, value_type = Option<f64>)]
    pub approved_usdc: Option<UsdcBase>,
    /// What all keys that are neither revoked nor expired may still spend together. null: one of them has no limit.
    #[schema(required, value_type = Option<f64>)]
    pub needed_usdc: Option<UsdcBase>,
    /// How much `approved_usdc` is below `needed_usdc`. null if one of them is.
    #[schema(required, value_type = Option<f64>)]
    pub short_usdc: Option<UsdcBase>,
}

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
    // An API key is not looked at: it shows nothing more.
    let session = signed_in::if_presented("SESSION_TOKEN", &method, &headers, peer, &state).await?;
    let is_own = session.is_some_and(|session| session.wallet == wallet);
    let mut connection = state.shared.connections.list(peer).await?;
    let (withdrawable, refundable) = if is_own {
        let withdrawable = reads::withdrawable_collateral(&mut *connection, &wallet, MAX_CLAIMS, Utc::now()).await?;
        (Some(withdrawable), Some(reads::overdue_executions(&mut *connection, &wallet, MAX_CLAIMS).await?))
    } else {
        (None, None)
    };
    let configuration = reads::configuration(&mut *connection).await?;
    let totals = reads::wallet_totals(&mut *connection, &wallet).await?;
    let creator = reads::wallet_profile(&mut *connection, &wallet).await?;
    let agents = reads::owned_agents(&mut *connection, &wallet, MAX_AGENTS).await?;
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
        agents,
        totals,
        withdrawable,
        refundable,
    });
    Ok(if is_own { ([(header::CACHE_CONTROL, "no-store")], answer).into_response() } else { answer.into_response() })
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
        ("guardian", roles.guardian.as_ref()),
    ];
    holders.into_iter().filter(|(_, holder)| *holder == Some(&wallet)).map(|(role, _)| role).collect()
}
