//! Creation and closing of the program's own accounts: canonical address, creation at an address that
//! already holds lamports, closing.

use std::{
    cell::{Ref, RefMut},
    ops::Range,
};

use anchor_lang::{
    Discriminator, Owner, ZeroCopy,
    error::ErrorCode,
    prelude::*,
    solana_program::{instruction::Instruction, program::invoke_signed_unchecked, rent::Rent},
};

use bytemuck::Pod;

use crate::{
    error::{MarketplaceError, OrRefuse, ensure},
    id::ID,
    state::{DISCRIMINATOR_LEN, LAYOUT_VERSION, Versioned},
};

/// The system program.
pub const SYSTEM_PROGRAM_ID: Pubkey = anchor_lang::solana_program::system_program::ID;

const CREATE_ACCOUNT: u32 = 0;
const ASSIGN: u32 = 1;
const TRANSFER: u32 = 2;
const ALLOCATE: u32 = 8;

/// Bytes of every account that rent is charged for in addition to its data.
const ACCOUNT_STORAGE_OVERHEAD: u64 = 128;

/// Access to one of the program's accounts. Unlike the framework's own, it refuses an account of another layout version.
pub trait Current<T> {
    fn read(&self) -> Result<Ref<'_, T>>;
    fn write(&self) -> Result<RefMut<'_, T>>;
}

#[expect(clippy::disallowed_methods, reason = "the version is checked here")]
impl<T: ZeroCopy + Owner + Versioned> Current<T> for AccountLoader<'_, T> {
    #[inline(never)]
    fn read(&self) -> Result<Ref<'_, T>> {
        let account = self.load()?;
        ensure(account.version() == LAYOUT_VERSION, MarketplaceError::WrongVersion)?;
        Ok(account)
    }

    #[inline(never)]
    fn write(&self) -> Result<RefMut<'_, T>> {
        let account = self.load_mut()?;
        ensure(account.version() == LAYOUT_VERSION, MarketplaceError::WrongVersion)?;
        Ok(account)
    }
}

/// The content of one of the program's accounts, for the instructions that end an execution. Checks once what the framework
/// checks when it makes a loader and again at every access. `too_short`: the refusal of an account that has dropped a part of `T`.
#[inline(never)]
pub fn load<'a, T: Discriminator + Versioned + Pod>(
    account: &'a AccountInfo,
    too_short: MarketplaceError,
) -> Result<Ref<'a, T>> {
    check_type::<T>(account)?;
    let data = account.try_borrow_data()?;
    let content = Ref::filter_map(data, |data| bytemuck::try_from_bytes::<T>(data.get(content::<T>())?).ok());
    let content = content.ok().or_refuse(too_short)?;
    ensure(content.version() == LAYOUT_VERSION, MarketplaceError::WrongVersion)?;
    Ok(content)
}

/// [`load`], to write.
#[inline(never)]
pub fn load_mut<'a, T: Discriminator + Versioned + Pod>(
    account: &'a AccountInfo,
    too_short: MarketplaceError,
) -> Result<RefMut<'a, T>> {
    check_type::<T>(account)?;
    let data = account.try_borrow_mut_data()?;
    let content =
        RefMut::filter_map(data, |data| bytemuck::try_from_bytes_mut::<T>(data.get_mut(content::<T>())?).ok());
    let content = content.ok().or_refuse(too_short)?;
    ensure(content.version() == LAYOUT_VERSION, MarketplaceError::WrongVersion)?;
    Ok(content)
}

/// Refuses an account of another program or type.
#[inline(always)]
pub fn check_type<T: Discriminator>(account: &AccountInfo) -> Result<()> {
    if *account.owner != ID {
        return Err(ErrorCode::AccountOwnedByWrongProgram.into());
    }
    let data = account.try_borrow_data()?;
    let discriminator = data.get(..DISCRIMINATOR_LEN).ok_or(ErrorCode::AccountDiscriminatorNotFound)?;
    if discriminator != T::DISCRIMINATOR {
        return Err(ErrorCode::AccountDiscriminatorMismatch.into());
    }
    Ok(())
}

/// Where a type is in the bytes of its account.
#[inline(always)]
const fn content<T>() -> Range<usize> {
    DISCRIMINATOR_LEN..DISCRIMINATOR_LEN.saturating_add(size_of::<T>())
}

/// The canonical bump of the address that `account` must have. No bump is taken from the client.
#[inline(never)]
pub fn canonical_bump(account: &AccountInfo, seeds: &[&[u8]]) -> Result<u8> {
    let (address, bump) = Pubkey::find_program_address(seeds, &ID);
    ensure(*account.key == address, MarketplaceError::WrongAddress)?;
    Ok(bump)
}

/// Refuses an account that exists already. Lamports at its address do not count: anybody can send them.
#[inline(never)]
pub fn check_vacant(account: &AccountInfo) -> Result<()> {
    ensure(*account.owner == SYSTEM_PROGRAM_ID && account.data_is_empty(), MarketplaceError::AlreadyExists)
}

/// Creates the vacant `account` at a program-derived address, rent-exempt, with `space` zero bytes, owned
/// by `owner`. `seeds` end with the bump.
#[inline(never)]
pub fn create<'info>(
    payer: &AccountInfo<'info>,
    account: &AccountInfo<'info>,
    space: usize,
    owner: &Pubkey,
    seeds: &[&[u8]],
) -> Result<()> {
    let rent = rent_exempt_minimum(space)?;
    let lamports = account.lamports();
    if lamports > 0 {
        return create_prefunded(payer, account, space, owner, seeds, rent.saturating_sub(lamports));
    }
    let mut data = Vec::with_capacity(52);
    data.extend_from_slice(&CREATE_ACCOUNT.to_le_bytes());
    data.extend_from_slice(&rent.to_le_bytes());
    data.extend_from_slice(&(space as u64).to_le_bytes());
    data.extend_from_slice(owner.as_ref());
    let accounts = vec![AccountMeta::new(*payer.key, true), AccountMeta::new(*account.key, true)];
    let instruction = Instruction { program_id: SYSTEM_PROGRAM_ID, accounts, data };
    invoke_signed_unchecked(&instruction, &[payer.clone(), account.clone()], &[seeds]).map_err(Into::into)
}

/// The system program does not create an account that holds lamports, so this transfers the rest, allocates
/// and assigns.
#[cold]
#[inline(never)]
fn create_prefunded<'info>(
    payer: &AccountInfo<'info>,
    account: &AccountInfo<'info>,
    space: usize,
    owner: &Pubkey,
    seeds: &[&[u8]],
    missing: u64,
) -> Result<()> {
    if missing > 0 {
        let mut data = TRANSFER.to_le_bytes().to_vec();
        data.extend_from_slice(&missing.to_le_bytes());
        let accounts = vec![AccountMeta::new(*payer.key, true), AccountMeta::new(*account.key, false)];
        let instruction = Instruction { program_id: SYSTEM_PROGRAM_ID, accounts, data };
        invoke_signed_unchecked(&instruction, &[payer.clone(), account.clone()], &[])?;
    }
    let mut allocate = ALLOCATE.to_le_bytes().to_vec();
    allocate.extend_from_slice(&(space as u64).to_le_bytes());
    let mut assign = ASSIGN.to_le_bytes().to_vec();
    assign.extend_from_slice(owner.as_ref());
    for data in [allocate, assign] {
        let accounts = vec![AccountMeta::new(*account.key, true)];
        let instruction = Instruction { program_id: SYSTEM_PROGRAM_ID, accounts, data };
        invoke_signed_unchecked(&instruction, core::slice::from_ref(account), &[seeds])?;
    }
    Ok(())
}

/// Lamports that make an account of `space` bytes rent-exempt, by the cluster's own parameters.
#[inline(always)]
#[expect(deprecated, reason = "the sysvar's layout of today; its replacement is not in the framework yet")]
fn rent_exempt_minimum(space: usize) -> Result<u64> {
    let rent = Rent::get()?;
    // Since SIMD-0194 the threshold is exactly 1, so the expensive arithmetic of floats is avoided.
    if rent.exemption_threshold.to_bits() != 1.0f64.to_bits() {
        return Ok(rent.minimum_balance(space));
    }
    ACCOUNT_STORAGE_OVERHEAD
        .checked_add(space as u64)
        .and_then(|bytes| bytes.checked_mul(rent.lamports_per_byte_year))
        .or_refuse(MarketplaceError::OutOfRange)
}

/// Writes the whole of one of the program's accounts, discriminator included.
#[inline(always)]
pub fn write<T: ZeroCopy + Discriminator>(account: &AccountInfo, value: &T) -> Result<()> {
    write_with(account, value, &())
}

/// Writes one of the program's accounts and what follows behind it.
#[inline(always)]
pub fn write_with<T: ZeroCopy + Discriminator, Tail: Pod>(account: &AccountInfo, value: &T, tail: &Tail) -> Result<()> {
    let mut data = account.try_borrow_mut_data()?;
    let (discriminator, rest) = data.split_at_mut_checked(DISCRIMINATOR_LEN).or_refuse(MarketplaceError::OutOfRange)?;
    let (body, end) = rest.split_at_mut_checked(core::mem::size_of::<T>()).or_refuse(MarketplaceError::OutOfRange)?;
    discriminator.copy_from_slice(T::DISCRIMINATOR);
    *bytemuck::from_bytes_mut(body) = *value;
    end.copy_from_slice(bytemuck::bytes_of(tail));
    Ok(())
}

/// Cuts one of the program's accounts to its first `space` bytes. The rent that it does not need any more goes to
/// `rent_payer`.
#[inline(always)]
pub fn shrink(account: &AccountInfo, space: usize, rent_payer: &AccountInfo) -> Result<()> {
    account.resize(space)?;
    let kept = rent_exempt_minimum(space)?.min(account.lamports());
    let returned = account.lamports().saturating_sub(kept);
    let total = rent_payer.lamports().checked_add(returned).or_refuse(MarketplaceError::OutOfRange)?;
    **rent_payer.try_borrow_mut_lamports()? = total;
    **account.try_borrow_mut_lamports()? = kept;
    Ok(())
}

/// `true` if `account` is one of the program's.
pub fn exists(account: &AccountInfo) -> bool {
    *account.owner == ID
}

/// Closes one of the program's accounts and sends its lamports to `destination`.
pub fn close(account: &AccountInfo, destination: &AccountInfo) -> Result<()> {
    let lamports = account.lamports();
    let total = destination.lamports().checked_add(lamports).or_refuse(MarketplaceError::OutOfRange)?;
    **destination.try_borrow_mut_lamports()? = total;
    **account.try_borrow_mut_lamports()? = 0;
    account.resize(0)?;
    account.assign(&SYSTEM_PROGRAM_ID);
    Ok(())
}

/// The revision after `revision`.
#[inline(always)]
pub fn next_revision(revision: u64) -> Result<u64> {
    revision.checked_add(1).or_refuse(MarketplaceError::OutOfRange)
}

/// The time on chain, in seconds since 1970.
#[inline(always)]
pub fn now_unix_s() -> Result<i64> {
    Ok(Clock::get()?.unix_timestamp)
}
