//! Opening the escrow: the one step that takes the caller's session key, and so the caller's presence.

use crtx_chain::{SignedTransaction, instructions::Opening};
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_store::executions::{Call, Failure, Lease, State, TransactionKind};
use solana_keypair::Keypair;
use solana_signer::Signer;

use super::{
    Clock, Ended, EngineError, RESUME_AFTER, Work,
    transactions::{Landed, stored},
};
use crate::state::Parts;

/// Ample: what is asked for and not used costs nothing without a price.
const OPEN_UNITS: u32 = 80_000;

impl Parts {
    /// Opens the escrow. `None`: it is open, go on.
    pub(super) async fn open(
        &self,
        lease: Lease,
        call: &Call,
        caller: &Caller,
        clock: &mut Clock,
    ) -> Result<Option<Ended>, EngineError> {
        let transaction = match clock.chain(self.sign_opening(call, caller)).await {
            Ok(transaction) => transaction,
            Err(EngineError::Chain(error)) => {
                return self.not_opened(lease, ApiError::unavailable(error)).await.map(Some);
            }
            Err(error) => return Err(error),
        };
        self.executions.opening(lease, &stored(&transaction)).await?;
        let patience = self.config.limits.open_patience;
        let outcome = clock.chain(self.chain.send_and_confirm(&transaction, patience)).await;
        match self.note(&transaction.signature.to_string(), &outcome).await? {
            Landed::Yes => {
                self.executions.opened(lease).await?;
                Ok(None)
            }
            Landed::No => self.opening_refused(lease, call, Some(caller)).await,
            Landed::Unknown => {
                self.executions.postpone(lease, RESUME_AFTER).await?;
                Ok(Some(Ended::OpeningUnknown))
            }
        }
    }

    async fn sign_opening(&self, call: &Call, caller: &Caller) -> Result<SignedTransaction, EngineError> {
        let session = Keypair::new_from_array(caller.key.session_signing_key().to_bytes());
        let gateway = &*self.config.keypair;
        let opening = Opening {
            agent: call.agent,
            execution_id: call.execution_id.into_bytes(),
            request_hash: call.request_hash,
            max_amount: call.amount.0,
        };
        let open = self.instructions.open_execution_with_grant(
            &caller.wallet,
            &caller.session_key,
            &gateway.pubkey(),
            &opening,
        );
        let blockhash = self.chain.recent_blockhash().await?;
        let mut instructions = self.budget(OPEN_UNITS);
        instructions.push(open);
        Ok(SignedTransaction::sign(&instructions, &[gateway, &session], blockhash)?)
    }

    /// The opening did not land as signed. The record decides: somebody may have opened it before.
    async fn opening_refused(
        &self,
        lease: Lease,
        call: &Call,
        caller: Option<&Caller>,
    ) -> Result<Option<Ended>, EngineError> {
        if let Some(record) = self.snapshot(call).await?.record {
            if record.request_hash == call.request_hash && record.agent == call.agent {
                self.executions.opened(lease).await?;
                return Ok(None);
            }
            let error = ApiError::new(ErrorCode::Conflict, "the chain has another call under this execution id");
            return self.not_opened(lease, error).await.map(Some);
        }
        let reason = match caller {
            Some(caller) => self.terms(caller, &call.agent).await.err(),
            None => None,
        };
        let error = reason.unwrap_or_else(|| {
            ApiError::new(
                ErrorCode::Unavailable,
                "the escrow could not be opened in time; nothing was charged, try again with the same Idempotency-Key",
            )
        });
        self.not_opened(lease, error).await.map(Some)
    }

    pub(super) async fn not_opened(&self, lease: Lease, error: ApiError) -> Result<Ended, EngineError> {
        let failure = Failure {
            reason: None,
            status: error.status().as_u16(),
            code: error.code.as_str().to_owned(),
            message: error.message,
        };
        self.executions.not_opened(lease, &failure).await?;
        Ok(Ended::NotOpened(failure))
    }

    /// What became of an opening that a worker before this one sent.
    pub(super) async fn resolve_opening(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        match self.resolve(work, TransactionKind::Open).await? {
            Landed::Yes => self.executions.opened(work.lease).await?,
            Landed::No => {
                if let Some(ended) = self.opening_refused(work.lease, &work.call, None).await? {
                    return Ok(Some(ended));
                }
            }
            Landed::Unknown => {
                self.executions.postpone(work.lease, RESUME_AFTER).await?;
                return Ok(Some(Ended::OpeningUnknown));
            }
        }
        work.state = State::Pending;
        Ok(None)
    }
}
