//! The account of one execution: its record, and the terms that follow it while it is open.

use std::ops::Deref;

use agent_marketplace::state::{ExecutionRecord, ExecutionStatus, OpenTerms};
use anchor_lang::Discriminator;
use solana_pubkey::Pubkey;

use crate::layout::{DecodeError, Layout};

/// An execution as its account holds it. It reads like its record.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    pub record: ExecutionRecord,
    /// `Some` while the execution is open. The program drops them when it ends.
    pub terms: Option<OpenTerms>,
}

impl Execution {
    /// The account's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut data = ExecutionRecord::DISCRIMINATOR.to_vec();
        data.extend_from_slice(bytemuck::bytes_of(&self.record));
        if let Some(terms) = &self.terms {
            data.extend_from_slice(bytemuck::bytes_of(terms));
        }
        data
    }

    /// The grant that the execution was opened with. `None` if there was none, or if the execution ended.
    pub fn grant(&self) -> Option<Pubkey> {
        self.terms.map(|terms| terms.grant).filter(|grant| *grant != Pubkey::default())
    }
}

impl Deref for Execution {
    type Target = ExecutionRecord;

    fn deref(&self) -> &ExecutionRecord {
        &self.record
    }
}

impl Layout for Execution {
    const KIND: &'static str = "ExecutionRecord";
    type Head = ExecutionRecord;

    fn revision(&self) -> u64 {
        self.record.revision
    }

    /// An open execution has its terms, any other one does not.
    fn decode_body(body: &[u8]) -> Result<Self, DecodeError> {
        let length = |expected: usize| DecodeError::Length {
            kind: Self::KIND,
            expected,
            actual: body.len().saturating_add(ExecutionRecord::DISCRIMINATOR.len()),
        };
        let (record, rest) =
            body.split_at_checked(size_of::<ExecutionRecord>()).ok_or_else(|| length(ExecutionRecord::SPACE))?;
        let record: ExecutionRecord =
            bytemuck::try_pod_read_unaligned(record).map_err(|_| length(ExecutionRecord::SPACE))?;
        if record.status() == Some(ExecutionStatus::Open) {
            let terms = bytemuck::try_pod_read_unaligned(rest).map_err(|_| length(ExecutionRecord::OPEN_SPACE))?;
            return Ok(Self { record, terms: Some(terms) });
        }
        if rest.is_empty() { Ok(Self { record, terms: None }) } else { Err(length(ExecutionRecord::SPACE)) }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    fn execution(status: ExecutionStatus, terms: Option<OpenTerms>) -> Execution {
        let mut record = ExecutionRecord::zeroed();
        record.status = status as u8;
        record.amount = 50_000;
        Execution { record, terms }
    }

    #[test]
    fn an_open_execution_is_read_with_its_terms_and_an_ended_one_without() {
        let mut terms = OpenTerms::zeroed();
        terms.timeout_seconds = 60;
        let open = Execution::decode(&execution(ExecutionStatus::Open, Some(terms)).encode()).expect("own bytes");
        assert_eq!((open.amount, open.terms.map(|terms| terms.timeout_seconds)), (50_000, Some(60)));
        let ended = Execution::decode(&execution(ExecutionStatus::Completed, None).encode()).expect("own bytes");
        assert_eq!((ended.amount, ended.terms), (50_000, None));
    }

    #[test]
    fn a_length_that_does_not_fit_the_status_is_refused() {
        for (execution, expected) in [
            (execution(ExecutionStatus::Open, None), ExecutionRecord::OPEN_SPACE),
            (execution(ExecutionStatus::Completed, Some(OpenTerms::zeroed())), ExecutionRecord::SPACE),
        ] {
            let data = execution.encode();
            let error = Execution::decode(&data).expect_err("length");
            assert_eq!(error, DecodeError::Length { kind: "ExecutionRecord", expected, actual: data.len() });
        }
    }
}
