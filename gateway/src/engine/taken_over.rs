//! An execution that its wallet opened itself and handed over: it starts behind the opening.

use std::sync::Arc;

use crtx_store::executions::{Call, Lease, State};
use tokio::sync::watch;
use tracing::Instrument;

use super::{Engine, ended::Stage, time_spent::TimeSpent, work::Work};

impl Engine {
    /// Starts an execution whose escrow is open, in a task of its own, so that it continues if the caller disconnects.
    /// Every step reads the chain first, because others can end the execution at any time.
    pub fn start_opened(self: &Arc<Self>, lease: Lease, call: Call) -> watch::Receiver<Stage> {
        let (stage, watched) = watch::channel(Stage::Open(TimeSpent::default()));
        let engine = Arc::clone(self);
        let span = tracing::info_span!("handed over", execution = %call.execution_id, agent = %call.agent);
        let task = async move {
            let mut work = Work::reserved(engine.hold(lease), lease, call);
            let result = engine.carry_on(work.resume(State::Pending, None)).await;
            engine.report(lease, work.spent, result, &stage).await;
        };
        self.tasks.spawn(task.instrument(span));
        watched
    }
}
