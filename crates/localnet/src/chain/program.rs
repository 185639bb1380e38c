//! Deploys the program as the upgradeable loader does: a program account that points to a data account
//! with the upgrade authority in front of the ELF. `initialize_config` checks that authority.

use anyhow::anyhow;
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_sdk_ids::bpf_loader_upgradeable;
use surfpool_core::surfnet::svm::SurfnetSvm;

/// Variant numbers of the loader's account state.
const PROGRAM: u32 = 2;
const PROGRAM_DATA: u32 = 3;

/// Writes both accounts, replacing an older version of the program. Data accounts are not touched.
pub fn deploy(svm: &mut SurfnetSvm, program_id: &Pubkey, authority: &Pubkey, elf: &[u8]) -> anyhow::Result<()> {
    let (data_address, _) = Pubkey::find_program_address(&[program_id.as_ref()], &bpf_loader_upgradeable::id());
    // The data account first: the loader reads it when the program account arrives.
    let accounts = [(data_address, program_data(authority, elf), false), (*program_id, program(&data_address), true)];
    for (address, data, executable) in accounts {
        let lamports = svm.inner.minimum_balance_for_rent_exemption(data.len());
        let account = Account { lamports, data, owner: bpf_loader_upgradeable::id(), executable, rent_epoch: u64::MAX };
        svm.set_account(&address, account).map_err(|error| anyhow!("the program cannot be deployed: {error}"))?;
    }
    Ok(())
}

fn program(data_address: &Pubkey) -> Vec<u8> {
    [PROGRAM.to_le_bytes().as_slice(), data_address.as_ref()].concat()
}

/// State number, slot of deployment (0: long ago), authority as an option, ELF.
fn program_data(authority: &Pubkey, elf: &[u8]) -> Vec<u8> {
    [PROGRAM_DATA.to_le_bytes().as_slice(), &0u64.to_le_bytes(), &[1], authority.as_ref(), elf].concat()
}
