//! Which accounts count as the program's, and how many bytes of them a source keeps.

use agent_marketplace::state::DISCRIMINATOR_LEN;
use crtx_chain::FetchedAccount;
use solana_pubkey::Pubkey;

use super::error::SourceError;

/// Longest account that is kept. The program's own accounts are shorter than 1 KiB.
const MAX_ACCOUNT_BYTES: usize = 64 * 1024;
/// Longest message or list entry that a node may send: the longest account of the chain has 10 MiB, in base64.
pub(super) const MAX_ENTRY_BYTES: usize = 16 * 1024 * 1024;

/// The data of an account of the program, `None` for any other account. `node` has sent it.
///
/// Anybody can give the program an account that holds zeros, of any length. It is none of the program's accounts until
/// the program writes its kind into it, so it costs neither memory nor a row.
pub(super) fn of_program(
    program: &Pubkey,
    node: &str,
    account: FetchedAccount,
) -> Result<Option<Vec<u8>>, SourceError> {
    if account.owner != *program || account.lamports == 0 || !has_kind(&account.data) {
        return Ok(None);
    }
    if account.data.len() > MAX_ACCOUNT_BYTES {
        return Err(SourceError::TooLarge { node: node.to_owned(), what: "an account", limit: MAX_ACCOUNT_BYTES });
    }
    Ok(Some(account.data))
}

/// Whether the program has written the kind of account. Without it, it is being created or closed, or is a stranger's.
pub fn has_kind(data: &[u8]) -> bool {
    data.get(..DISCRIMINATOR_LEN).is_some_and(|kind| kind.iter().any(|byte| *byte != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(owner: Pubkey, lamports: u64, data: Vec<u8>) -> FetchedAccount {
        FetchedAccount { owner, lamports, data }
    }

    #[test]
    fn an_account_counts_once_the_program_has_written_its_kind() {
        let program = Pubkey::new_from_array([7; 32]);
        let of_program = |account| of_program(&program, "node", account);
        let written = vec![1; 16];
        assert_eq!(of_program(account(program, 1, written.clone())), Ok(Some(written.clone())));
        assert_eq!(of_program(account(Pubkey::default(), 1, written.clone())), Ok(None));
        assert_eq!(of_program(account(program, 0, written)), Ok(None));
        assert_eq!(of_program(account(program, 1, vec![0; 10 * 1024 * 1024])), Ok(None));
        assert_eq!(of_program(account(program, 1, vec![1; 7])), Ok(None));
        let too_long = of_program(account(program, 1, vec![1; MAX_ACCOUNT_BYTES + 1]));
        assert!(matches!(too_long, Err(SourceError::TooLarge { .. })));
    }
}
