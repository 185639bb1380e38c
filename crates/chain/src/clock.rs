//! The chain's clock, which the program compares deadlines with.

use solana_sdk_ids::sysvar;

use crate::{error::ChainError, rpc::ChainClient};

impl ChainClient {
    /// `Clock::unix_timestamp`: seconds since 1970. `None` if the chain has no clock.
    pub async fn unix_time(&self) -> Result<Option<i64>, ChainError> {
        let clock = self.account(&sysvar::clock::ID).await?.value;
        Ok(clock.and_then(|clock| unix_timestamp(&clock.data)))
    }
}

/// Reads `unix_timestamp` of the clock sysvar. It follows slot, epoch start, epoch and leader schedule epoch.
pub fn unix_timestamp(clock: &[u8]) -> Option<i64> {
    let bytes = clock.get(32..40)?;
    Some(i64::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chains_time_is_the_last_field_of_the_clock() {
        let mut clock = vec![0; 40];
        clock[32..40].copy_from_slice(&1_790_000_000_i64.to_le_bytes());
        assert_eq!(unix_timestamp(&clock), Some(1_790_000_000));
        assert_eq!(unix_timestamp(&clock[..39]), None);
    }
}
