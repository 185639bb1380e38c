//! The parts of classic SPL Token that the services need: decoding and creating token accounts, approving the spender.

use std::fmt::Debug;

use solana_instruction::Instruction;
use solana_program_option::COption;
use solana_program_pack::Pack;
use solana_pubkey::Pubkey;
use solana_system_interface::instruction::{allocate_with_seed, transfer as transfer_lamports};
use spl_associated_token_account_interface::{
    address::get_associated_token_address_with_program_id, instruction::create_associated_token_account_idempotent,
};
use spl_token_interface::{
    instruction::{approve_checked, initialize_account3, initialize_mint2, mint_to_checked, transfer_checked},
    state,
};

use crate::wire::FetchedAccount;

pub use agent_marketplace::token::{TOKEN_ACCOUNT_LEN, TOKEN_PROGRAM_ID, USDC_DECIMALS};
/// The program that defines one associated token account per wallet and mint.
pub use spl_associated_token_account_interface::program::ID as ASSOCIATED_TOKEN_PROGRAM_ID;

/// An initialized token account, which may be frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenAccount {
    pub mint: Pubkey,
    pub owner: Pubkey,
    /// In base units.
    pub amount: u64,
    /// Another address that may move tokens, and how many.
    pub delegate: Option<(Pubkey, u64)>,
    pub frozen: bool,
}

/// Size of a mint in bytes.
pub const MINT_LEN: usize = state::Mint::LEN;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an initialized classic SPL Token account")]
pub struct NotTokenAccount;

impl TokenAccount {
    pub fn decode(account: &FetchedAccount) -> Result<Self, NotTokenAccount> {
        if account.owner != TOKEN_PROGRAM_ID {
            return Err(NotTokenAccount);
        }
        Self::from_bytes(&account.data).ok_or(NotTokenAccount)
    }

    /// Decodes the bytes. The caller must check which program owns the account.
    pub fn from_bytes(data: &[u8]) -> Option<Self> {
        let account = state::Account::unpack(data).ok()?;
        let delegate = Option::from(account.delegate).map(|delegate| (delegate, account.delegated_amount));
        let frozen = account.is_frozen();
        Some(Self { mint: account.mint, owner: account.owner, amount: account.amount, delegate, frozen })
    }

    /// Whether the program pays `owner` into this account.
    pub fn receives(&self, owner: &Pubkey, mint: &Pubkey) -> bool {
        self.owner == *owner && self.mint == *mint && !self.frozen
    }

    /// Encodes an account, for tests and local networks.
    pub fn encode(&self) -> Vec<u8> {
        let (delegate, delegated_amount) = self.delegate.unzip();
        let account = state::Account {
            mint: self.mint,
            owner: self.owner,
            amount: self.amount,
            delegate: delegate.into(),
            state: if self.frozen { state::AccountState::Frozen } else { state::AccountState::Initialized },
            is_native: COption::None,
            delegated_amount: delegated_amount.unwrap_or_default(),
            close_authority: COption::None,
        };
        let mut data = vec![0; TOKEN_ACCOUNT_LEN];
        account.pack_into_slice(&mut data);
        data
    }
}

/// The wallet's associated token account for `mint`.
pub fn associated_token_address(wallet: &Pubkey, mint: &Pubkey) -> Pubkey {
    get_associated_token_address_with_program_id(wallet, mint, &TOKEN_PROGRAM_ID)
}

/// Creates the wallet's associated token account for `mint`, if it does not exist.
pub fn create_associated_token_account(payer: &Pubkey, wallet: &Pubkey, mint: &Pubkey) -> Instruction {
    create_associated_token_account_idempotent(payer, wallet, mint, &TOKEN_PROGRAM_ID)
}

/// The address of a further token account of `owner`, which `payer` creates. `number` tells them apart.
#[expect(clippy::expect_used, reason = "the seed is short enough, and no derived address is the token program")]
pub fn further_address(payer: &Pubkey, owner: &Pubkey, number: u8) -> Pubkey {
    Pubkey::create_with_seed(payer, &seed(owner, number), &TOKEN_PROGRAM_ID).expect("a short seed")
}

/// Creates the account at [`further_address`]. Unlike `create_account_with_seed`, it does so also if somebody has sent
/// lamports to the address before.
pub fn create_further_account(
    payer: &Pubkey,
    owner: &Pubkey,
    number: u8,
    mint: &Pubkey,
    rent: u64,
) -> [Instruction; 3] {
    let (account, seed) = (further_address(payer, owner, number), seed(owner, number));
    [
        transfer_lamports(payer, &account, rent),
        allocate_with_seed(&account, payer, &seed, TOKEN_ACCOUNT_LEN as u64, &TOKEN_PROGRAM_ID),
        built(initialize_account3(&TOKEN_PROGRAM_ID, &account, mint, owner)),
    ]
}

/// At most 32 bytes.
fn seed(owner: &Pubkey, number: u8) -> String {
    format!("{:.29}{number}", owner.to_string())
}

#[expect(clippy::expect_used, reason = "the functions refuse only the id of another program")]
fn built(instruction: Result<Instruction, impl Debug>) -> Instruction {
    instruction.expect("the token program")
}

/// Lets `delegate` move up to `amount` base units of USDC out of `account`.
pub fn approve(account: &Pubkey, mint: &Pubkey, delegate: &Pubkey, owner: &Pubkey, amount: u64) -> Instruction {
    built(approve_checked(&TOKEN_PROGRAM_ID, account, mint, delegate, owner, &[], amount, USDC_DECIMALS))
}

/// `InitializeMint2`, without a freeze authority. The account must belong to the token program.
pub fn initialize_mint(mint: &Pubkey, authority: &Pubkey) -> Instruction {
    built(initialize_mint2(&TOKEN_PROGRAM_ID, mint, authority, None, USDC_DECIMALS))
}

/// `TransferChecked`, signed by the owner of `from`.
pub fn transfer(from: &Pubkey, mint: &Pubkey, to: &Pubkey, owner: &Pubkey, amount: u64) -> Instruction {
    built(transfer_checked(&TOKEN_PROGRAM_ID, from, mint, to, owner, &[], amount, USDC_DECIMALS))
}

/// `MintToChecked`: only on networks whose mint authority is ours.
pub fn mint_to(mint: &Pubkey, account: &Pubkey, authority: &Pubkey, amount: u64) -> Instruction {
    built(mint_to_checked(&TOKEN_PROGRAM_ID, mint, account, authority, &[], amount, USDC_DECIMALS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> TokenAccount {
        TokenAccount {
            mint: Pubkey::new_from_array([1; 32]),
            owner: Pubkey::new_from_array([2; 32]),
            amount: 5_000_000,
            delegate: Some((Pubkey::new_from_array([3; 32]), 4_000_000)),
            frozen: false,
        }
    }

    fn fetched(owner: Pubkey, data: Vec<u8>) -> FetchedAccount {
        FetchedAccount { owner, lamports: 1, data }
    }

    #[test]
    fn a_token_account_is_read_with_its_delegate() {
        assert_eq!(TokenAccount::decode(&fetched(TOKEN_PROGRAM_ID, account().encode())), Ok(account()));
        let bare = TokenAccount { delegate: None, frozen: true, ..account() };
        assert_eq!(TokenAccount::decode(&fetched(TOKEN_PROGRAM_ID, bare.encode())), Ok(bare));
    }

    #[test]
    fn only_a_usable_account_of_the_owner_receives_money() {
        let (owner, mint) = (account().owner, account().mint);
        assert!(account().receives(&owner, &mint));
        assert!(!account().receives(&mint, &mint) && !account().receives(&owner, &owner));
        assert!(!TokenAccount { frozen: true, ..account() }.receives(&owner, &mint));
    }

    #[test]
    fn each_owner_has_further_addresses_of_its_own() {
        let key = |byte| Pubkey::new_from_array([byte; 32]);
        let mut addresses: Vec<_> = [0, 1, u8::MAX].map(|number| further_address(&key(1), &key(2), number)).to_vec();
        addresses.extend([further_address(&key(2), &key(2), 0), further_address(&key(1), &key(3), 0)]);
        let distinct: std::collections::BTreeSet<_> = addresses.iter().collect();
        assert_eq!(distinct.len(), addresses.len());
        let [_, allocate, initialize] = create_further_account(&key(1), &key(2), 0, &key(4), 5);
        assert_eq!((allocate.accounts[0].pubkey, initialize.accounts[0].pubkey), (addresses[0], addresses[0]));
    }

    #[test]
    fn an_account_of_another_program_is_no_token_account() {
        let data = account().encode();
        assert_eq!(TokenAccount::decode(&fetched(Pubkey::default(), data.clone())), Err(NotTokenAccount));
        assert_eq!(TokenAccount::decode(&fetched(TOKEN_PROGRAM_ID, data[..164].to_vec())), Err(NotTokenAccount));
        assert_eq!(TokenAccount::decode(&fetched(TOKEN_PROGRAM_ID, vec![0; 165])), Err(NotTokenAccount));
    }
}
