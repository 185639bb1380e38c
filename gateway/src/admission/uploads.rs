//! How often a wallet hands content in to this process. How much it holds is limited in the database.

use std::time::Duration;

use crtx_http::allowance::{Allowances, Rate};
use solana_pubkey::Pubkey;

const RATE: Rate = Rate { policy: "content-per-wallet", burst: 100, quota: 600, window: Duration::from_secs(60) };

pub(crate) type Uploads = Allowances<Pubkey>;

pub(crate) fn allowed() -> Uploads {
    Allowances::new(RATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wallet_has_a_burst_of_its_own_and_then_waits() {
        let uploads = allowed();
        let wallet = Pubkey::new_from_array([1; 32]);
        let taken = (0..200).filter(|_| uploads.take(wallet, "pieces").is_ok()).count();
        assert!((100..200).contains(&taken), "{taken}");
        assert_eq!(uploads.take(Pubkey::new_from_array([2; 32]), "pieces"), Ok(()));
    }
}
