//! API keys: the wallet that each one acts for, its use, and what its owner sees of it.

mod ownership;
mod rows;
mod shown;

pub use ownership::{MOST_PER_WALLET, Registered, Registration, register, rename, revoke_pair};
pub use rows::{ApiKeyRow, NewApiKey, find, find_all, insert, revoke, touch};
pub use shown::{GrantLimits, ShownKey, count, needed, page, shown};
