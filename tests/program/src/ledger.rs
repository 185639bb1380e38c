//! Reading accounts out of LiteSVM.

use agent_marketplace::{
    state::{ExecutionRecord, OpenTerms},
    token::{TOKEN_ACCOUNT_LEN, TOKEN_PROGRAM_ID},
};
use anchor_lang::{Discriminator, ZeroCopy, prelude::Pubkey};
use litesvm::LiteSVM;
use solana_account::Account;

use crate::people::PROGRAM_ID;

/// An account that exists: one without lamports does not.
pub fn account(svm: &LiteSVM, address: &Pubkey) -> Option<Account> {
    svm.get_account(address).filter(|account| account.lamports > 0)
}

/// One of the program's accounts, without what may follow behind it. Panics if the account is of another kind.
#[track_caller]
pub fn state<T: ZeroCopy + Discriminator>(svm: &LiteSVM, address: &Pubkey) -> Option<T> {
    let account = account(svm, address).filter(|account| account.owner == PROGRAM_ID)?;
    assert_eq!(&account.data[..8], T::DISCRIMINATOR, "another kind of account");
    Some(bytemuck::pod_read_unaligned(&account.data[8..8 + size_of::<T>()]))
}

/// What follows behind the record of an open execution.
pub fn open_terms(svm: &LiteSVM, record: &Pubkey) -> Option<OpenTerms> {
    let account = account(svm, record).filter(|account| account.owner == PROGRAM_ID)?;
    account.data.get(ExecutionRecord::SPACE..ExecutionRecord::OPEN_SPACE).map(bytemuck::pod_read_unaligned)
}

/// Base units in a token account; 0 if it does not exist.
pub fn balance(svm: &LiteSVM, token: &Pubkey) -> u64 {
    account(svm, token)
        .filter(|account| account.owner == TOKEN_PROGRAM_ID && account.data.len() == TOKEN_ACCOUNT_LEN)
        .map_or(0, |account| u64::from_le_bytes(account.data[64..72].try_into().expect("8 bytes")))
}

/// Every account of `mint` with its balance.
pub fn token_balances(svm: &LiteSVM, mint: &Pubkey) -> Vec<(Pubkey, u64)> {
    let of_mint = |account: &Account| account.data.len() == TOKEN_ACCOUNT_LEN && account.data[..32] == mint.to_bytes();
    let accounts = svm.get_program_accounts(&TOKEN_PROGRAM_ID).into_iter();
    let mut balances: Vec<_> = accounts
        .filter(|(_, account)| of_mint(account))
        .map(|(address, _)| (address, balance(svm, &address)))
        .collect();
    balances.sort_unstable();
    balances
}
