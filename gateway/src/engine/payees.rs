//! The USDC accounts that settlements pay: of the creator and of the treasury. The program accepts any account of their
//! wallets, so the gateway pays to the associated account, and to another one if that cannot receive money.
//!
//! In the usual case this costs nothing: the terms of a call read both accounts in their one request. Only for an owner
//! whose account is not usable the chain is searched, one search at a time. The treasury is the platform's, so the
//! gateway makes it a new account.

use std::time::Duration;

use crtx_chain::{ChainError, FetchedAccount, SignedTransaction, token};
use crtx_http::{
    ApiError, ErrorCode,
    allowance::{Allowances, Rate},
};
use crtx_protocol::transaction::Outcome;
use moka::sync::Cache;
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;
use solana_signer::Signer;
use tokio::sync::Mutex;

use super::{Engine, ended::EngineError};

/// Agents, and owners with other accounts, that this process remembers.
const KNOWN: u64 = 10_000;
/// After this time the associated account is tried again.
const OTHER_FOR: Duration = Duration::from_secs(600);
/// After this time an owner without a usable account is looked at again.
const NONE_FOR: Duration = Duration::from_secs(5);
const CREATE_UNITS: u32 = 40_000;
const RETRY_AFTER: Duration = Duration::from_secs(10);
/// Accounts that this process creates for the treasury. Its owner can close them and keep the rent.
const CREATED: Rate = Rate { policy: "treasury-accounts", burst: 5, quota: 10, window: Duration::from_secs(86_400) };

pub(crate) struct PayeeAccounts {
    /// Who is paid: an agent's creator, which never changes, and under the configuration's address the treasury's owner.
    owners: Cache<Pubkey, Pubkey>,
    /// The usable accounts of owners whose associated one is not.
    others: Cache<Pubkey, Pubkey>,
    /// Owners without a usable account.
    without: Cache<Pubkey, ()>,
    search: Mutex<()>,
    creation: Mutex<()>,
    created: Allowances<()>,
}

impl PayeeAccounts {
    pub fn new() -> Self {
        Self {
            owners: Cache::new(KNOWN),
            others: Cache::builder().max_capacity(KNOWN).time_to_live(OTHER_FOR).build(),
            without: Cache::builder().max_capacity(KNOWN).time_to_live(NONE_FOR).build(),
            search: Mutex::new(()),
            creation: Mutex::new(()),
            created: Allowances::new(CREATED),
        }
    }
}

/// Whether a settlement can be paid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payable {
    Yes,
    /// No account of the creator can receive money.
    CreatorCannot,
    /// No account of the treasury can, and none could be made.
    TreasuryCannot,
}

impl Engine {
    /// The account that a settlement for this owner names.
    pub(super) fn payee(&self, owner: &Pubkey) -> Pubkey {
        self.payees.others.get(owner).unwrap_or_else(|| self.instructions.usdc_of(owner))
    }

    /// The accounts that a settlement of this agent pays, as far as their owners are known. Others are no token accounts.
    pub(crate) fn expected_payees(&self, agent: &Pubkey) -> [Pubkey; 2] {
        let config = self.instructions.addresses.config();
        [*agent, config]
            .map(|key| self.payees.owners.get(&key).map_or_else(Pubkey::default, |owner| self.payee(&owner)))
    }

    /// Refuses a call for which nobody could be paid. `seen`: what the chain has at [`Self::expected_payees`]. `fee`: the
    /// treasury's part; without one its account does not matter.
    pub(crate) async fn allow_payees(
        &self,
        agent: &Pubkey,
        [creator, treasury]: [&Pubkey; 2],
        fee: u64,
        seen: [Option<FetchedAccount>; 2],
    ) -> Result<(), ApiError> {
        let [creators, treasurys] = seen;
        if !self.receives(creators.as_ref(), creator) {
            self.payees.owners.insert(*agent, *creator);
            if self.usable_account(creator, false).await.map_err(ApiError::unavailable)?.is_none() {
                let message =
                    "the agent cannot be paid: its creator's wallet has no USDC account that can receive money";
                return Err(ApiError::new(ErrorCode::AgentUnpayable, message));
            }
        }
        if fee > 0 && !self.receives(treasurys.as_ref(), treasury) {
            self.payees.owners.insert(self.instructions.addresses.config(), *treasury);
            if self.treasurys_account(treasury).await.map_err(ApiError::unavailable)?.is_none() {
                let message = "the marketplace has no USDC account that can receive its fees, and accepts no new calls";
                return Err(ApiError::new(ErrorCode::Unavailable, message).with_retry_after(RETRY_AFTER));
            }
        }
        Ok(())
    }

    /// Looks at the accounts of a settlement that the chain has refused. Afterwards [`Self::payee`] names usable ones. An
    /// error says nothing about the accounts.
    pub(super) async fn look_at_payees(
        &self,
        [creator, treasury]: [&Pubkey; 2],
        fee: u64,
    ) -> Result<Payable, EngineError> {
        if self.usable_account(creator, true).await?.is_none() {
            return Ok(Payable::CreatorCannot);
        }
        let can = fee == 0 || self.treasurys_account(treasury).await?.is_some();
        Ok(if can { Payable::Yes } else { Payable::TreasuryCannot })
    }

    /// What is wrong with the treasury's account, in words.
    pub(crate) async fn treasurys_problem(&self, owner: &Pubkey) -> Result<Option<String>, EngineError> {
        let usual = self.instructions.usdc_of(owner);
        Ok(match self.treasurys_account(owner).await? {
            Some(account) if account == usual => None,
            Some(account) => Some(format!(
                "the treasury's associated USDC account {usual} cannot receive money; fees go to {account}"
            )),
            None => Some(format!(
                "no USDC account of the treasury's owner {owner} can receive money: new calls are refused, and \
                 settlements wait until their deadline"
            )),
        })
    }

    /// A usable account of the owner: the associated one, else any. Unless `afresh`, what was found a moment ago counts.
    pub(crate) async fn usable_account(&self, owner: &Pubkey, afresh: bool) -> Result<Option<Pubkey>, ChainError> {
        let _alone = self.payees.search.lock().await;
        if !afresh && self.payees.without.contains_key(owner) {
            return Ok(None);
        }
        let usual = self.instructions.usdc_of(owner);
        let [account] = self.read([usual]).await?;
        let found = if self.receives(account.as_ref(), owner) {
            Some(usual)
        } else {
            match self.search(owner).await {
                // The owner has so many accounts that the node cannot list them. The associated one is enough to be paid.
                Err(ChainError::TooLarge { .. }) => None,
                found => found?,
            }
        };
        Ok(self.remember(owner, found))
    }

    /// A usable account of the treasury: the associated one, else one that this gateway created before, else any, else a
    /// new one.
    async fn treasurys_account(&self, owner: &Pubkey) -> Result<Option<Pubkey>, EngineError> {
        let _alone = self.payees.creation.lock().await;
        if self.payees.without.contains_key(owner) {
            return Ok(None);
        }
        let gateway = self.config.keypair.pubkey();
        let further = |number| token::further_address(&gateway, owner, number);
        let addresses = [self.instructions.usdc_of(owner), further(0), further(1), further(2)];
        let read = self.read(addresses).await?;
        let accounts = || addresses.iter().zip(&read);
        if let Some((usable, _)) = accounts().find(|(_, account)| self.receives(account.as_ref(), owner)) {
            return Ok(self.remember(owner, Some(*usable)));
        }
        let found = self.search(owner).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the chain could not be searched for other accounts of the treasury");
            None
        });
        let free = |account: &Option<FetchedAccount>| {
            account.as_ref().is_none_or(|account| account.owner == system_program::ID && account.data.is_empty())
        };
        let found = match (found, accounts().zip(0_u8..).find(|((_, account), _)| free(account))) {
            (None, Some(((address, _), place))) => {
                let created = self.create_account(owner, place).await?;
                tracing::warn!(%address, created, "the treasury had no usable USDC account");
                created.then_some(*address)
            }
            (found, _) => found,
        };
        Ok(self.remember(owner, found))
    }

    /// Creates the associated account, or another one from place 1 on. False: it is not known to exist. Nothing is stored
    /// before: the next look reads the chain, and an account is created once.
    async fn create_account(&self, owner: &Pubkey, place: u8) -> Result<bool, EngineError> {
        let (gateway, mint) = (&*self.config.keypair, &self.instructions.usdc_mint);
        let payer = gateway.pubkey();
        let mut instructions = self.patient_budget(CREATE_UNITS);
        match place.checked_sub(1) {
            None => instructions.push(token::create_associated_token_account(&payer, owner, mint)),
            Some(number) => {
                let rent = self.chain.rent_exemption(token::TOKEN_ACCOUNT_LEN).await?;
                instructions.extend(token::create_further_account(&payer, owner, number, mint, rent));
            }
        }
        let blockhash = self.chain.recent_blockhash().await?;
        let transaction = SignedTransaction::sign(&instructions, &[gateway], blockhash)?;
        if self.payees.created.take((), "accounts of the treasury").is_err() {
            return Ok(false);
        }
        let outcome = self.chain.send_and_confirm(&transaction, self.config.limits.open_patience).await;
        self.figures.transaction(&outcome);
        Ok(matches!(outcome, Outcome::Confirmed { .. }))
    }

    /// Searches for any usable account of `owner`.
    async fn search(&self, owner: &Pubkey) -> Result<Option<Pubkey>, ChainError> {
        let found = self.chain.token_accounts(owner, &self.instructions.usdc_mint).await?;
        let usable = found.into_iter().filter(|(_, account)| self.receives(Some(account), owner));
        Ok(usable.map(|(address, _)| address).min())
    }

    fn remember(&self, owner: &Pubkey, account: Option<Pubkey>) -> Option<Pubkey> {
        let PayeeAccounts { others, without, .. } = &self.payees;
        match account {
            None => without.insert(*owner, ()),
            Some(_) => without.invalidate(owner),
        }
        match account.filter(|account| *account != self.instructions.usdc_of(owner)) {
            Some(other) => others.insert(*owner, other),
            None => others.invalidate(owner),
        }
        account
    }

    /// Whether this account receives USDC for its owner.
    pub(super) fn receives(&self, account: Option<&FetchedAccount>, owner: &Pubkey) -> bool {
        let account = account.and_then(|account| token::TokenAccount::decode(account).ok());
        account.is_some_and(|account| account.receives(owner, &self.instructions.usdc_mint))
    }
}
