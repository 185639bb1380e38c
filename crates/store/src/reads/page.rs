//! Parts of lists.

/// Where a part of a list begins. `P` is the sort key of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<P> {
    /// After so many rows.
    Offset(u64),
    /// After the row with this sort key, whether or not it is still there.
    After(P),
}

impl<P> Start<P> {
    /// `OFFSET`, at most 2^40: no list has as many rows, and a statement can add its limit.
    pub(crate) fn offset_to_db(&self) -> i64 {
        match self {
            Self::Offset(offset) => i64::try_from(*offset).unwrap_or(i64::MAX).min(1 << 40),
            Self::After(_) => 0,
        }
    }

    pub(crate) const fn after(&self) -> Option<&P> {
        match self {
            Self::Offset(_) => None,
            Self::After(place) => Some(place),
        }
    }
}

/// A part of a list, and how many rows the whole list has. Both are of the same moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<T, P> {
    pub items: Vec<T>,
    pub total: u64,
    /// The sort key of the last item if another one follows.
    pub next: Option<P>,
}

impl<T, P> Listed<T, P> {
    /// `items` were read with a limit of one more than `limit`.
    pub(crate) fn new(mut items: Vec<T>, total: u64, limit: u32, place: impl Fn(&T) -> P) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(place);
        Self { items, total, next }
    }
}
