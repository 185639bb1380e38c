//! The parts of classic SPL Token that the services need: decoding token accounts and approving the spender.

use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;

use crate::fetched::FetchedAccount;

pub use agent_marketplace::token::{TOKEN_ACCOUNT_LEN, TOKEN_PROGRAM_ID, USDC_DECIMALS};

/// The program that defines one associated token account per wallet and mint.
pub const ASSOCIATED_TOKEN_PROGRAM_ID: Pubkey = Pubkey::from_str_const("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");

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
pub const MINT_LEN: usize = 82;

/// An initialized mint of the classic SPL Token program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mint {
    /// Who may make more of the token; `None`: nobody.
    pub authority: Option<Pubkey>,
    pub decimals: u8,
}

impl Mint {
    /// Decodes the bytes. The caller must check which program owns the account.
    pub fn from_bytes(data: &[u8]) -> Option<Self> {
        if data.len() != MINT_LEN {
            return None;
        }
        let (has_authority, rest) = data.split_first_chunk::<4>()?;
        let (authority, rest) = rest.split_first_chunk::<32>()?;
        let (_supply, rest) = rest.split_first_chunk::<8>()?;
        let (&decimals, rest) = rest.split_first()?;
        let initialized = rest.first() == Some(&1);
        let authority = (u32::from_le_bytes(*has_authority) == 1).then(|| Pubkey::new_from_array(*authority));
        initialized.then_some(Self { authority, decimals })
    }
}

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
        if data.len() != TOKEN_ACCOUNT_LEN {
            return None;
        }
        let (mint, rest) = data.split_first_chunk::<32>()?;
        let (owner, rest) = rest.split_first_chunk::<32>()?;
        let (amount, rest) = rest.split_first_chunk::<8>()?;
        let (has_delegate, rest) = rest.split_first_chunk::<4>()?;
        let (delegate, rest) = rest.split_first_chunk::<32>()?;
        let (state, rest) = rest.split_first()?;
        let (_is_native, rest) = rest.split_first_chunk::<12>()?;
        let (delegated, _close_authority) = rest.split_first_chunk::<8>()?;
        let frozen = match state {
            1 => false,
            2 => true,
            _ => return None,
        };
        let delegate = (u32::from_le_bytes(*has_delegate) == 1)
            .then(|| (Pubkey::new_from_array(*delegate), u64::from_le_bytes(*delegated)));
        Some(Self {
            mint: Pubkey::new_from_array(*mint),
            owner: Pubkey::new_from_array(*owner),
            amount: u64::from_le_bytes(*amount),
            delegate,
            frozen,
        })
    }

    /// Encodes an account, for tests and local networks.
    pub fn encode(&self) -> Vec<u8> {
        let mut data = Vec::with_capacity(TOKEN_ACCOUNT_LEN);
        data.extend_from_slice(self.mint.as_ref());
        data.extend_from_slice(self.owner.as_ref());
        data.extend_from_slice(&self.amount.to_le_bytes());
        let (delegate, delegated) = self.delegate.unwrap_or_default();
        data.extend_from_slice(&u32::from(self.delegate.is_some()).to_le_bytes());
        data.extend_from_slice(delegate.as_ref());
        data.push(if self.frozen { 2 } else { 1 });
        data.extend_from_slice(&[0; 12]);
        data.extend_from_slice(&delegated.to_le_bytes());
        data.resize(TOKEN_ACCOUNT_LEN, 0);
        data
    }
}

/// The wallet's associated token account for `mint`.
pub fn associated_token_address(wallet: &Pubkey, mint: &Pubkey) -> Pubkey {
    let seeds = [wallet.as_ref(), TOKEN_PROGRAM_ID.as_ref(), mint.as_ref()];
    Pubkey::find_program_address(&seeds, &ASSOCIATED_TOKEN_PROGRAM_ID).0
}

/// Creates the wallet's associated token account for `mint`, if it does not exist.
pub fn create_associated_token_account(payer: &Pubkey, wallet: &Pubkey, mint: &Pubkey) -> Instruction {
    Instruction {
        program_id: ASSOCIATED_TOKEN_PROGRAM_ID,
        accounts: vec![
            AccountMeta::new(*payer, true),
            AccountMeta::new(associated_token_address(wallet, mint), false),
            AccountMeta::new_readonly(*wallet, false),
            AccountMeta::new_readonly(*mint, false),
            AccountMeta::new_readonly(solana_sdk_ids::system_program::ID, false),
            AccountMeta::new_readonly(TOKEN_PROGRAM_ID, false),
        ],
        data: vec![1],
    }
}

/// Lets `delegate` move up to `amount` base units of USDC out of `account`.
pub fn approve(account: &Pubkey, mint: &Pubkey, delegate: &Pubkey, owner: &Pubkey, amount: u64) -> Instruction {
    let mut data = vec![13];
    data.extend_from_slice(&amount.to_le_bytes());
    data.push(USDC_DECIMALS);
    Instruction {
        program_id: TOKEN_PROGRAM_ID,
        accounts: vec![
            AccountMeta::new(*account, false),
            AccountMeta::new_readonly(*mint, false),
            AccountMeta::new_readonly(*delegate, false),
            AccountMeta::new_readonly(*owner, true),
        ],
        data,
    }
}

/// `InitializeMint2`, without a freeze authority. The account must belong to the token program.
pub fn initialize_mint(mint: &Pubkey, authority: &Pubkey) -> Instruction {
    let mut data = vec![20, USDC_DECIMALS];
    data.extend_from_slice(authority.as_ref());
    data.push(0);
    Instruction { program_id: TOKEN_PROGRAM_ID, accounts: vec![AccountMeta::new(*mint, false)], data }
}

/// `TransferChecked`, signed by the owner of `from`.
pub fn transfer(from: &Pubkey, mint: &Pubkey, to: &Pubkey, owner: &Pubkey, amount: u64) -> Instruction {
    let mut data = vec![12];
    data.extend_from_slice(&amount.to_le_bytes());
    data.push(USDC_DECIMALS);
    let accounts = vec![
        AccountMeta::new(*from, false),
        AccountMeta::new_readonly(*mint, false),
        AccountMeta::new(*to, false),
        AccountMeta::new_readonly(*owner, true),
    ];
    Instruction { program_id: TOKEN_PROGRAM_ID, accounts, data }
}

/// `MintToChecked`: only on networks whose mint authority is ours.
pub fn mint_to(mint: &Pubkey, account: &Pubkey, authority: &Pubkey, amount: u64) -> Instruction {
    let mut data = vec![14];
    data.extend_from_slice(&amount.to_le_bytes());
    data.push(USDC_DECIMALS);
    let accounts = vec![
        AccountMeta::new(*mint, false),
        AccountMeta::new(*account, false),
        AccountMeta::new_readonly(*authority, true),
    ];
    Instruction { program_id: TOKEN_PROGRAM_ID, accounts, data }
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
    fn an_account_of_another_program_is_no_token_account() {
        let data = account().encode();
        assert_eq!(TokenAccount::decode(&fetched(Pubkey::default(), data.clone())), Err(NotTokenAccount));
        assert_eq!(TokenAccount::decode(&fetched(TOKEN_PROGRAM_ID, data[..164].to_vec())), Err(NotTokenAccount));
        assert_eq!(TokenAccount::decode(&fetched(TOKEN_PROGRAM_ID, vec![0; 165])), Err(NotTokenAccount));
    }
}
