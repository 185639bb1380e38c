//! Parts of lists.

use crate::{convert::amount_to_db, error::StoreError};

/// A part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub limit: u32,
    pub offset: u64,
}

impl Page {
    /// `LIMIT` and `OFFSET`.
    pub(crate) fn to_db(self) -> Result<(i64, i64), StoreError> {
        Ok((i64::from(self.limit), amount_to_db("offset", self.offset)?))
    }
}
