//! CPU-bound work on a few threads of its own, never on those of the async runtime.
//!
//! Work that others define is bounded before it comes here, but not short. Here it gets a bounded number of
//! threads, a bounded queue and, if its caller wishes, a time limit for waiting. The threads are detached: a process
//! that ends does not wait for them.

use std::{io, sync::Arc, time::Duration};

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use thread_priority::{ThreadPriority, ThreadPriorityValue, set_current_thread_priority};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// A few threads with one queue. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Offload {
    threads: Arc<ThreadPool>,
    /// One for each job that runs or waits.
    places: Arc<Semaphore>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffloadConfig {
    pub threads: usize,
    /// Jobs that run or wait.
    pub places: usize,
    pub stack_bytes: usize,
}

/// Why a job brought no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OffloadError {
    #[error("too much work is waiting")]
    Full,
    #[error("the work took too long")]
    TooSlow,
    #[error("the work failed")]
    Failed,
}

impl Offload {
    /// Starts the threads.
    pub fn start(name: &'static str, config: OffloadConfig) -> io::Result<Self> {
        let threads = ThreadPoolBuilder::new()
            .num_threads(config.threads)
            .stack_size(config.stack_bytes)
            .thread_name(move |_| name.to_owned())
            .start_handler(|_| yield_to_others())
            // A panic ends the job and not the thread; the caller gets an error.
            .panic_handler(|_| {})
            .build()
            .map_err(io::Error::other)?;
        Ok(Self { threads: Arc::new(threads), places: Arc::new(Semaphore::new(config.places)) })
    }

    /// Runs a job if there is a place for it now, and waits for it for at most so long.
    pub async fn try_run<T: Send + 'static>(
        &self,
        patience: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, OffloadError> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| OffloadError::Full)?;
        tokio::time::timeout(patience, self.run_at(place, job)).await.map_err(|_| OffloadError::TooSlow)?
    }

    /// Waits for a place, and for the job to end.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, OffloadError> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| OffloadError::Failed)?;
        self.run_at(place, job).await
    }

    async fn run_at<T: Send + 'static>(
        &self,
        place: OwnedSemaphorePermit,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, OffloadError> {
        let (result, done) = oneshot::channel();
        self.threads.spawn_fifo(move || {
            let _place = place;
            // The caller has gone.
            if !result.is_closed() {
                let _ = result.send(job());
            }
        });
        done.await.map_err(|_| OffloadError::Failed)
    }
}

/// Gives the thread a lower priority than those that serve requests: a niceness of about 5 on Unix.
fn yield_to_others() {
    const PRIORITY: u8 = 37;
    let priority = ThreadPriorityValue::try_from(PRIORITY).map(ThreadPriority::Crossplatform);
    let lowered = priority.is_ok_and(|priority| set_current_thread_priority(priority).is_ok());
    if !lowered {
        tracing::debug!("the priority of a worker thread could not be lowered");
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn offload(threads: usize, places: usize) -> Offload {
        let config = OffloadConfig { threads, places, stack_bytes: 1024 * 1024 };
        Offload::start("test", config).expect("threads")
    }

    /// A job that runs until it is released.
    fn blocker() -> (mpsc::Sender<()>, impl FnOnce() + Send + 'static) {
        let (release, released) = mpsc::channel();
        (release, move || assert!(released.recv().is_ok(), "released"))
    }

    #[tokio::test]
    async fn a_job_brings_its_result_from_another_thread() {
        let here = thread::current().id();
        let there = offload(1, 1).try_run(PATIENCE, || thread::current().id()).await.expect("done");
        assert_ne!(here, there);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_job_runs_with_less_priority_than_what_serves() {
        // Field 19 of the thread's stat, after the name in brackets.
        let niceness = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("stat");
            let fields = stat.rsplit_once(") ").expect("a name").1;
            fields.split(' ').nth(16).expect("a niceness").parse::<i32>().expect("a number")
        };
        let here = niceness();
        let there = offload(1, 1).try_run(PATIENCE, niceness).await.expect("done");
        assert!(there > here.max(3), "{there} against {here}");
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once_and_a_patient_caller_waits() {
        let offload = offload(1, 2);
        let (release, block) = blocker();
        let running = tokio::spawn({
            let offload = offload.clone();
            async move { offload.run(block).await }
        });
        let waiting = tokio::spawn({
            let offload = offload.clone();
            async move { offload.run(|| 1).await }
        });
        while offload.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(offload.try_run(PATIENCE, || 2).await, Err(OffloadError::Full));
        let patient = tokio::spawn({
            let offload = offload.clone();
            async move { offload.run(|| 3).await }
        });
        release.send(()).expect("it runs");
        assert_eq!(running.await.expect("joined"), Ok(()));
        assert_eq!(waiting.await.expect("joined"), Ok(1));
        assert_eq!(patient.await.expect("joined"), Ok(3));
    }

    #[tokio::test]
    async fn nobody_waits_longer_than_the_patience_and_what_nobody_waits_for_is_not_run() {
        let offload = offload(1, 4);
        let (release, block) = blocker();
        assert_eq!(offload.try_run(Duration::from_millis(20), block).await, Err(OffloadError::TooSlow));
        let (started, runs) = mpsc::channel();
        let late = offload.try_run(Duration::from_millis(20), move || started.send(()));
        assert!(matches!(late.await, Err(OffloadError::TooSlow)));
        release.send(()).expect("it still runs");
        assert_eq!(offload.run(|| 7).await, Ok(7), "the thread is there again");
        assert!(runs.try_recv().is_err(), "the abandoned job ran");
    }

    #[tokio::test]
    async fn a_panic_ends_the_job_and_not_the_thread() {
        let offload = offload(1, 1);
        assert_eq!(offload.run(|| panic!("a job's fault")).await, Err::<(), _>(OffloadError::Failed));
        assert_eq!(offload.run(|| 5).await, Ok(5));
    }

    #[test]
    fn a_runtime_ends_although_a_job_never_does() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let (_release, block) = blocker();
        let result = runtime.block_on(offload(1, 1).try_run(Duration::from_millis(20), block));
        assert_eq!(result, Err(OffloadError::TooSlow));
        drop(runtime);
    }
}
