//! Classic SPL Token. What is seldom used comes from `spl-token-interface`. The two parts of every paid call, reading a
//! token account and `transfer_checked`, are written here, because the library's cost more compute units; tests below
//! compare them with the library's.

use anchor_lang::{
    prelude::*,
    solana_program::{instruction::Instruction, program::invoke_signed_unchecked, program_pack::Pack},
};
use spl_token_interface::{instruction as library, state::Mint};

use crate::error::{MarketplaceError, OrRefuse, ensure};

/// The classic SPL Token program.
pub const TOKEN_PROGRAM_ID: Pubkey = pubkey!("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
/// The associated token account program.
pub const ASSOCIATED_TOKEN_PROGRAM_ID: Pubkey = pubkey!("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
/// Decimals of USDC.
pub const USDC_DECIMALS: u8 = 6;
/// Size of a token account in bytes.
pub const TOKEN_ACCOUNT_LEN: usize = 165;

const AMOUNT_AT: usize = 64;
const STATE_AT: usize = 108;
const STATE_INITIALIZED: u8 = 1;

const TRANSFER_CHECKED: u8 = 12;

/// Refuses every mint that is not an initialized classic SPL Token mint with 6 decimals.
pub fn check_mint(mint: &AccountInfo) -> Result<()> {
    ensure(*mint.owner == TOKEN_PROGRAM_ID, MarketplaceError::MintUnsuitable)?;
    // `unpack` refuses another length and a mint that is not initialized.
    let mint = Mint::unpack(&mint.try_borrow_data()?).ok().or_refuse(MarketplaceError::MintUnsuitable)?;
    ensure(mint.decimals == USDC_DECIMALS, MarketplaceError::MintUnsuitable)
}

/// Refuses every account that is not a usable token account of `mint` owned by `owner`. The address does not
/// matter: the owner of an associated token account can change.
#[inline(never)]
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

/// Whether `address` is the associated token account of `wallet`.
#[cold]
#[inline(never)]
pub fn is_associated(address: &Pubkey, wallet: &Pubkey, mint: &Pubkey) -> bool {
    let seeds: &[&[u8]] = &[wallet.as_ref(), TOKEN_PROGRAM_ID.as_ref(), mint.as_ref()];
    *address == Pubkey::find_program_address(seeds, &ASSOCIATED_TOKEN_PROGRAM_ID).0
}

/// Balance of a token account in base units.
pub fn balance(account: &AccountInfo) -> Result<u64> {
    ensure(*account.owner == TOKEN_PROGRAM_ID, MarketplaceError::NotTokenAccount)?;
    let data = account.try_borrow_data()?;
    let bytes = data.get(AMOUNT_AT..).and_then(|rest| rest.first_chunk::<8>());
    bytes.map(|bytes| u64::from_le_bytes(*bytes)).or_refuse(MarketplaceError::NotTokenAccount)
}

/// Moves `amount` base units of USDC. The token program checks mint, decimals, balance and authority.
pub fn transfer<'info>(
    from: &AccountInfo<'info>,
    mint: &AccountInfo<'info>,
    to: &AccountInfo<'info>,
    authority: &AccountInfo<'info>,
    amount: u64,
    signer_seeds: &[&[&[u8]]],
) -> Result<()> {
    transfer_each(from, mint, authority, &[(to, amount)], signer_seeds)
}

/// Moves base units of USDC to one account after the other. An amount of zero needs no transfer.
#[inline(never)]
pub fn transfer_each<'info>(
    from: &AccountInfo<'info>,
    mint: &AccountInfo<'info>,
    authority: &AccountInfo<'info>,
    payments: &[(&AccountInfo<'info>, u64)],
    signer_seeds: &[&[&[u8]]],
) -> Result<()> {
    if payments.iter().all(|(_, amount)| *amount == 0) {
        return Ok(());
    }
    let mut infos = [from.clone(), mint.clone(), authority.clone(), from.clone()];
    for (to, amount) in payments.iter().filter(|(_, amount)| *amount > 0) {
        infos[3] = (*to).clone();
        let instruction = transfer_instruction(from.key, mint.key, to.key, authority.key, *amount);
        // No account of the call is borrowed here, so the checked variant would search for borrows in vain.
        invoke_signed_unchecked(&instruction, &infos, signer_seeds)?;
    }
    Ok(())
}

/// `transfer_checked` of the token program.
#[inline(always)]
fn transfer_instruction(from: &Pubkey, mint: &Pubkey, to: &Pubkey, authority: &Pubkey, amount: u64) -> Instruction {
    let [a, b, c, d, e, f, g, h] = amount.to_le_bytes();
    Instruction {
        program_id: TOKEN_PROGRAM_ID,
        accounts: vec![
            AccountMeta::new(*from, false),
            AccountMeta::new_readonly(*mint, false),
            AccountMeta::new(*to, false),
            AccountMeta::new_readonly(*authority, true),
        ],
        data: vec![TRANSFER_CHECKED, a, b, c, d, e, f, g, h, USDC_DECIMALS],
    }
}

/// Initializes a new account of the token program as a token account.
pub fn initialize_account<'info>(
    account: &AccountInfo<'info>,
    mint: &AccountInfo<'info>,
    authority: &Pubkey,
) -> Result<()> {
    let instruction = library::initialize_account3(&TOKEN_PROGRAM_ID, account.key, mint.key, authority)?;
    invoke_signed_unchecked(&instruction, &[account.clone(), mint.clone()], &[]).map_err(Into::into)
}

/// Closes an empty token account; its rent goes to `destination`.
pub fn close_account<'info>(
    account: &AccountInfo<'info>,
    destination: &AccountInfo<'info>,
    authority: &AccountInfo<'info>,
    signer_seeds: &[&[&[u8]]],
) -> Result<()> {
    let instruction = library::close_account(&TOKEN_PROGRAM_ID, account.key, destination.key, authority.key, &[])?;
    let infos = [account.clone(), destination.clone(), authority.clone()];
    invoke_signed_unchecked(&instruction, &infos, signer_seeds).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use anchor_lang::solana_program::program_option::COption;
    use spl_token_interface::state::{Account, AccountState};

    use super::*;

    const fn key(byte: u8) -> Pubkey {
        Pubkey::new_from_array([byte; 32])
    }

    #[test]
    fn a_transfer_is_the_one_of_the_library() {
        for amount in [0, 1, 50_000, u64::MAX] {
            let ours = transfer_instruction(&key(1), &key(2), &key(3), &key(4), amount);
            let theirs = library::transfer_checked(
                &spl_token_interface::ID,
                &key(1),
                &key(2),
                &key(3),
                &key(4),
                &[],
                amount,
                USDC_DECIMALS,
            );
            assert_eq!(ours, theirs.expect("an instruction"));
        }
    }

    #[test]
    fn the_fields_of_a_token_account_are_read_where_the_library_packs_them() {
        assert_eq!((TOKEN_ACCOUNT_LEN, TOKEN_PROGRAM_ID), (Account::LEN, spl_token_interface::ID));
        let (mint, owner) = (key(5), key(6));
        for (state, error) in [
            (AccountState::Initialized, None),
            (AccountState::Frozen, Some(MarketplaceError::TokenAccountUnusable)),
            (AccountState::Uninitialized, Some(MarketplaceError::TokenAccountUnusable)),
        ] {
            let packed = Account {
                mint,
                owner,
                amount: 0x0102_0304_0506_0708,
                delegate: COption::Some(key(7)),
                state,
                is_native: COption::None,
                delegated_amount: 9,
                close_authority: COption::Some(key(8)),
            };
            let mut data = vec![0; Account::LEN];
            Account::pack(packed, &mut data).expect("packs");
            let (address, mut lamports) = (key(9), 1);
            let account = AccountInfo::new(&address, false, false, &mut lamports, &mut data, &TOKEN_PROGRAM_ID, false);
            assert_eq!(balance(&account).expect("a balance"), packed.amount);
            let checked = check_account(&account, &mint, &owner).map_err(|error| error.to_string());
            assert_eq!(checked, error.map_or(Ok(()), |error| Err(Error::from(error).to_string())), "{state:?}");
            assert!(check_account(&account, &owner, &owner).is_err() && check_account(&account, &mint, &mint).is_err());
        }
    }

    #[test]
    fn the_associated_account_is_the_one_of_its_program() {
        let (wallet, mint) = (key(1), key(2));
        let seeds: &[&[u8]] = &[wallet.as_ref(), spl_token_interface::ID.as_ref(), mint.as_ref()];
        let address = Pubkey::find_program_address(seeds, &ASSOCIATED_TOKEN_PROGRAM_ID).0;
        assert!(is_associated(&address, &wallet, &mint) && !is_associated(&address, &mint, &wallet));
    }
}
