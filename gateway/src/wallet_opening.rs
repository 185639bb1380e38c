//! An execution that its wallet opened itself: what must hold on chain before this gateway takes it over. The money is
//! in the escrow, so nothing is checked that only concerns an opening.

use std::time::Duration;

use agent_marketplace::state::{AgentListed, Config, ExecutionStatus, OpenTerms};
use crtx_chain::Execution;
use crtx_http::{ApiError, ErrorCode};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_signer::Signer;
use uuid::Uuid;

use crate::engine::{Engine, SETTLE_MARGIN_S, time_of};

/// The creator gets its whole time, although some of it passes between this check and the call.
const SLACK_S: i64 = 2;
/// When a node that lags behind has probably caught up.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An open execution without a grant, and its listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalletOpening {
    pub record: Execution,
    pub terms: OpenTerms,
    pub listing: AgentListed,
}

impl Engine {
    /// Reads the record of the wallet's execution and checks that this gateway can finish it.
    pub(crate) async fn wallet_opening(&self, wallet: &Pubkey, id: &Uuid) -> Result<WalletOpening, ApiError> {
        let gateway = self.config.keypair.pubkey();
        let record = self.instructions.addresses.execution(wallet, id.as_bytes());
        let addresses = [record, self.instructions.addresses.config(), sysvar::clock::ID, gateway];
        let read = self.read(addresses).await.map_err(ApiError::unavailable)?;
        let [record, config, clock, fee_payer] = read;
        let record = self.decode::<Execution>(record.as_ref()).ok_or_else(|| not_there(id))?;
        let terms = open_terms(&record)?;
        let config = self.decode::<Config>(config.as_ref());
        let config = config.ok_or_else(|| ApiError::unavailable("the program is not configured"))?;
        // Only the configured gateway can settle and refund.
        if !self.config.keypair.follow(&config.gateway_authority) {
            return Err(ApiError::unavailable("the program's configuration names another gateway"));
        }
        check_time(&terms, time_of(clock.as_ref()))?;
        self.fee_payer.allow(fee_payer.map_or(0, |account| account.lamports))?;
        let [creator, treasury] = self.expected_payees(&record.agent);
        let read = self.read([record.agent, creator, treasury]).await.map_err(ApiError::unavailable)?;
        let [listing, creator, treasury] = read;
        let listing = self.decode::<AgentListed>(listing.as_ref());
        let listing = listing.ok_or_else(|| ApiError::agent_not_found(&record.agent.to_string()))?;
        let fee = record.split().map_or(0, |split| split.platform);
        let owners = [&listing.creator, &config.treasury_owner];
        self.allow_payees(&record.agent, owners, fee, [creator, treasury]).await?;
        Ok(WalletOpening { record, terms, listing })
    }
}

/// 409 `conflict` if the request is not the one that the wallet paid for.
pub(crate) fn check_request(paid_for: &[u8; 32], sent: &[u8; 32]) -> Result<(), ApiError> {
    if paid_for == sent {
        return Ok(());
    }
    let message = format!(
        "`task` and `parameters` are not what the execution was opened for: their hash is {}, and the record has {}",
        hex::encode(sent),
        hex::encode(paid_for)
    );
    Err(ApiError::new(ErrorCode::Conflict, message))
}

fn not_there(id: &Uuid) -> ApiError {
    let message = format!("this wallet has no execution {id} on chain; if it was opened a moment ago, try again");
    ApiError::new(ErrorCode::ExecutionNotFound, message).with_retry_after(RETRY_AFTER)
}

fn open_terms(record: &Execution) -> Result<OpenTerms, ApiError> {
    let conflict = |problem: &str| ApiError::new(ErrorCode::Conflict, problem);
    let terms = match (record.status(), record.terms) {
        (Some(ExecutionStatus::Open), Some(terms)) => terms,
        (Some(ExecutionStatus::Failed | ExecutionStatus::Expired), _) => {
            return Err(conflict("the execution was refunded on chain; open another one"));
        }
        _ => return Err(conflict("the execution was settled on chain already")),
    };
    if record.grant().is_some() {
        return Err(conflict("the execution was opened with an API key, and the service that opened it works on it"));
    }
    Ok(terms)
}

/// The creator must get its whole time, and the settlement some more: otherwise its failure would not be its own.
fn check_time(terms: &OpenTerms, now_unix_s: i64) -> Result<(), ApiError> {
    let left = terms.deadline_unix_s.saturating_sub(now_unix_s);
    let needed = i64::from(terms.timeout_seconds).saturating_add(SETTLE_MARGIN_S).saturating_add(SLACK_S);
    if left >= needed {
        return Ok(());
    }
    let message = format!(
        "{} s are left before the deadline, and the agent and the settlement need {needed} s; after the deadline the \
         escrow is refunded",
        left.max(0)
    );
    Err(ApiError::new(ErrorCode::Conflict, message))
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    fn terms(deadline_unix_s: i64) -> OpenTerms {
        OpenTerms { deadline_unix_s, timeout_seconds: 60, ..OpenTerms::zeroed() }
    }

    #[test]
    fn the_creator_gets_its_whole_time_and_the_settlement_some_more() {
        assert_eq!(check_time(&terms(1_077), 1_000), Ok(()));
        for now in [1_001, 1_077, 5_000] {
            let error = check_time(&terms(1_077), now).expect_err("too late");
            assert_eq!(error.code, ErrorCode::Conflict);
            assert!(error.message.contains("need 77 s"), "{}", error.message);
        }
    }

    #[test]
    fn another_request_is_refused_with_both_hashes() {
        assert_eq!(check_request(&[0xab; 32], &[0xab; 32]), Ok(()));
        let error = check_request(&[0xab; 32], &[0xcd; 32]).expect_err("another");
        assert_eq!(error.code, ErrorCode::Conflict);
        for hash in ["ab", "cd"] {
            assert!(error.message.contains(&hash.repeat(32)), "{}", error.message);
        }
    }
}
