//! Classic SPL Token without its typed accounts, which cost more compute units: the few necessary fields are
//! read from the bytes, and the few instructions are written as bytes.

use anchor_lang::{
    prelude::*,
    solana_program::{instruction::Instruction, program::invoke_signed_unchecked},
};

use crate::error::{MarketplaceError, OrRefuse, ensure};

/// The classic SPL Token program.
pub const TOKEN_PROGRAM_ID: Pubkey = pubkey!("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/// Decimals of USDC.
pub const USDC_DECIMALS: u8 = 6;
/// Size of a token account in bytes.
pub const TOKEN_ACCOUNT_LEN: usize = 165;

const MINT_LEN: usize = 82;
const MINT_DECIMALS_AT: usize = 44;
const MINT_INITIALIZED_AT: usize = 45;
const AMOUNT_AT: usize = 64;
const STATE_AT: usize = 108;
const STATE_INITIALIZED: u8 = 1;

const TRANSFER_CHECKED: u8 = 12;
const CLOSE_ACCOUNT: u8 = 9;
const INITIALIZE_ACCOUNT_3: u8 = 18;

/// Refuses every mint that is not an initialized classic SPL Token mint with 6 decimals.
pub fn check_mint(mint: &AccountInfo) -> Result<()> {
    ensure(*mint.owner == TOKEN_PROGRAM_ID, MarketplaceError::MintUnsuitable)?;
    let data = mint.try_borrow_data()?;
    ensure(
        data.len() == MINT_LEN
            && data.get(MINT_DECIMALS_AT) == Some(&USDC_DECIMALS)
            && data.get(MINT_INITIALIZED_AT) == Some(&1),
        MarketplaceError::MintUnsuitable,
    )
}

/// Refuses every account that is not a usable token account of `mint` owned by `owner`. The address does not
/// matter: the owner of an associated token account can change.
#[inline(always)]
pub fn check_account(account: &AccountInfo, mint: &Pubkey, owner: &Pubkey) -> Result<()> {
    ensure(*account.owner == TOKEN_PROGRAM_ID, MarketplaceError::NotTokenAccount)?;
    let data = account.try_borrow_data()?;
    let data: &[u8; TOKEN_ACCOUNT_LEN] = (&**data).try_into().ok().or_refuse(MarketplaceError::NotTokenAccount)?;
    let (account_mint, rest) = data.split_first_chunk::<32>().or_refuse(MarketplaceError::NotTokenAccount)?;
    let account_owner = rest.first_chunk::<32>().or_refuse(MarketplaceError::NotTokenAccount)?;
    ensure(account_mint == mint.as_array(), MarketplaceError::TokenMintMismatch)?;
    ensure(account_owner == owner.as_array(), MarketplaceError::TokenOwnerMismatch)?;
    ensure(data.get(STATE_AT) == Some(&STATE_INITIALIZED), MarketplaceError::TokenAccountUnusable)
}

/// Balance of a token account in base units.
pub fn balance(account: &AccountInfo) -> Result<u64> {
    ensure(*account.owner == TOKEN_PROGRAM_ID, MarketplaceError::NotTokenAccount)?;
    let data = account.try_borrow_data()?;
    let bytes = data.get(AMOUNT_AT..).and_then(|rest| rest.first_chunk::<8>());
    bytes.map(|bytes| u64::from_le_bytes(*bytes)).or_refuse(MarketplaceError::NotTokenAccount)
}

/// Moves `amount` base units of USDC. The token program checks mint, decimals, balance and authority.
#[inline(always)]
pub fn transfer<'info>(
    from: &AccountInfo<'info>,
    mint: &AccountInfo<'info>,
    to: &AccountInfo<'info>,
    authority: &AccountInfo<'info>,
    amount: u64,
    signer_seeds: &[&[&[u8]]],
) -> Result<()> {
    let [a, b, c, d, e, f, g, h] = amount.to_le_bytes();
    let instruction = Instruction {
        program_id: TOKEN_PROGRAM_ID,
        accounts: vec![
            AccountMeta::new(*from.key, false),
            AccountMeta::new_readonly(*mint.key, false),
            AccountMeta::new(*to.key, false),
            AccountMeta::new_readonly(*authority.key, true),
        ],
        data: vec![TRANSFER_CHECKED, a, b, c, d, e, f, g, h, USDC_DECIMALS],
    };
    // No account of the call is borrowed here, so the checked variant would search for borrows in vain.
    let infos = [from.clone(), mint.clone(), to.clone(), authority.clone()];
    invoke_signed_unchecked(&instruction, &infos, signer_seeds).map_err(Into::into)
}

/// Initializes a new account of the token program as a token account.
pub fn initialize_account<'info>(
    account: &AccountInfo<'info>,
    mint: &AccountInfo<'info>,
    authority: &Pubkey,
) -> Result<()> {
    let mut data = vec![INITIALIZE_ACCOUNT_3];
    data.extend_from_slice(authority.as_ref());
    let accounts = vec![AccountMeta::new(*account.key, false), AccountMeta::new_readonly(*mint.key, false)];
    let instruction = Instruction { program_id: TOKEN_PROGRAM_ID, accounts, data };
    invoke_signed_unchecked(&instruction, &[account.clone(), mint.clone()], &[]).map_err(Into::into)
}

/// Closes an empty token account; its rent goes to `destination`.
pub fn close_account<'info>(
    account: &AccountInfo<'info>,
    destination: &AccountInfo<'info>,
    authority: &AccountInfo<'info>,
    signer_seeds: &[&[&[u8]]],
) -> Result<()> {
    let accounts = vec![
        AccountMeta::new(*account.key, false),
        AccountMeta::new(*destination.key, false),
        AccountMeta::new_readonly(*authority.key, true),
    ];
    let instruction = Instruction { program_id: TOKEN_PROGRAM_ID, accounts, data: vec![CLOSE_ACCOUNT] };
    let infos = [account.clone(), destination.clone(), authority.clone()];
    invoke_signed_unchecked(&instruction, &infos, signer_seeds).map_err(Into::into)
}
