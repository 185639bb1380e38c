//! A row of the list, and the table of rows: parts of few rows that unchanged tables share.

use std::{cmp::Ordering, sync::Arc};

use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;

use super::{
    search::Document,
    shown_json::{Creator, Figures, ShownJson},
};

/// Rows in one part: a change of a row copies so many.
const PART: usize = 128;
/// Characters of the longest address.
const ADDRESS: usize = 44;

/// An address as text. It is ordered as texts are, so that clients can see the order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address([u8; ADDRESS]);

impl Address {
    /// As bytes: the text, and zeros to a fixed length.
    pub const fn bytes(&self) -> &[u8; ADDRESS] {
        &self.0
    }

    /// Reads [`Self::bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(ADDRESS);
        self.0.get(..end).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
    }
}

impl From<&Pubkey> for Address {
    fn from(address: &Pubkey) -> Self {
        let mut bytes = [0; ADDRESS];
        bytes.iter_mut().zip(address.to_string().bytes()).for_each(|(to, from)| *to = from);
        Self(bytes)
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the list shows of an agent, and sorts and filters by.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub address: Address,
    pub creator: Address,
    pub verified: bool,
    pub binding: bool,
    pub price: u64,
    pub total_executions: u64,
    pub trust: u64,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    /// Microseconds.
    pub created_at: i64,
    pub shown: ShownJson,
}

impl Row {
    /// Shown with the texts of this document.
    pub fn with_texts(self, document: &Document<'_>) -> Option<Self> {
        let shown = ShownJson::new(self.address.as_str(), document, &self.figures())?;
        Some(Self { shown, ..self })
    }

    /// Shown with the figures as they are now, and the texts that were shown.
    pub fn with_figures(self) -> Option<Self> {
        let shown = self.shown.with(&self.figures())?;
        Some(Self { shown, ..self })
    }

    fn figures(&self) -> Figures<'_> {
        Figures {
            binding: self.binding,
            price_per_call_usdc: UsdcBase(self.price),
            total_executions: self.total_executions,
            trust_usdc: UsdcBase(self.trust),
            success_rate: self.success_rate,
            avg_execution_time_ms: self.avg_execution_time_ms,
            creator: Creator { pubkey: self.creator.as_str(), verified: self.verified },
            status: "active",
        }
    }
}

/// An order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sort {
    TotalExecutions,
    SuccessRate,
    PriceAscending,
    PriceDescending,
    CreatedAt,
    Trust,
}

impl Sort {
    pub const ALL: [Self; 6] = [
        Self::TotalExecutions,
        Self::SuccessRate,
        Self::PriceAscending,
        Self::PriceDescending,
        Self::CreatedAt,
        Self::Trust,
    ];

    /// A number that grows in this order.
    pub fn key(self, row: &Row) -> u64 {
        match self {
            Self::TotalExecutions => !row.total_executions,
            // The bits of numbers that are not negative have the order of the numbers.
            Self::SuccessRate => !row.success_rate.to_bits(),
            Self::PriceAscending => row.price,
            Self::PriceDescending => !row.price,
            Self::CreatedAt => !row.created_at.wrapping_sub(i64::MIN).cast_unsigned(),
            Self::Trust => !row.trust,
        }
    }
}

/// What the rows are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Sort(Sort),
    /// Rows of one creator follow each other.
    Creator,
}

impl By {
    /// Rows with equal values are ordered by address.
    pub fn compare(self, one: &Row, other: &Row) -> Ordering {
        let values = match self {
            Self::Sort(sort) => sort.key(one).cmp(&sort.key(other)),
            Self::Creator => one.creator.cmp(&other.creator),
        };
        values.then_with(|| one.address.cmp(&other.address))
    }
}

/// Rows by their number. A clone shares all parts.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    parts: Vec<Arc<Vec<Option<Row>>>>,
}

fn place(row: u32) -> (usize, usize) {
    let row = row as usize;
    (row.checked_div(PART).unwrap_or_default(), row.checked_rem(PART).unwrap_or_default())
}

impl Rows {
    pub fn get(&self, row: u32) -> Option<&Row> {
        let (part, place) = place(row);
        self.parts.get(part)?.get(place)?.as_ref()
    }

    /// Puts a row at a number, or removes it, and returns what was there.
    pub fn set(&mut self, number: u32, row: Option<Row>) -> Option<Row> {
        let (part, place) = place(number);
        while self.parts.len() <= part {
            self.parts.push(Arc::new(vec![None; PART]));
        }
        let part = self.parts.get_mut(part).map(Arc::make_mut)?;
        part.get_mut(place).and_then(|there| std::mem::replace(there, row))
    }

    /// Numbers that rows can have without a new part.
    pub fn room(&self) -> usize {
        self.parts.len().saturating_mul(PART)
    }
}
