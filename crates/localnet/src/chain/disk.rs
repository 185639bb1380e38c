//! The thread that waits for the disk, so that no block does: it syncs the journal in groups and moves its blocks
//! into the database.

use std::{
    fs::File,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use anyhow::{Context, anyhow};
use crossbeam_channel::{Receiver, Sender};

use super::{block::Block, database::ChainDatabase, error::ChainFileError, history::History, journal};

enum Job {
    /// The journal's file, with everything up to the block of this number.
    Sync(File, u64),
    /// Blocks whose journal was rotated away.
    Move(Vec<Arc<Block>>),
}

/// What the thread has done so far.
#[derive(Default)]
struct Done {
    /// Blocks up to this number outlive a power cut.
    synced: u64,
    moves_under_way: usize,
    failure: Option<String>,
}

#[derive(Default)]
struct SharedDone {
    done: Mutex<Done>,
    changed: Condvar,
}

impl SharedDone {
    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Done)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait_until(&self, holds: impl Fn(&Done) -> bool) -> anyhow::Result<()> {
        let done = self.lock();
        let waiting = |done: &mut Done| done.failure.is_none() && !holds(done);
        let done = self.changed.wait_while(done, waiting).unwrap_or_else(PoisonError::into_inner);
        failure_of(&done)
    }
}

fn failure_of(done: &Done) -> anyhow::Result<()> {
    done.failure.as_ref().map_or(Ok(()), |failure| Err(anyhow!("the chain cannot be saved: {failure}")))
}

/// A handle of the thread.
pub struct Disk {
    jobs: Option<Sender<Job>>,
    progress: Arc<SharedDone>,
    thread: Option<JoinHandle<()>>,
}

impl Disk {
    /// Starts the thread. Blocks up to number `synced` are on the disk.
    pub fn start(
        dir: PathBuf,
        database: Arc<ChainDatabase>,
        history: Arc<History>,
        synced: u64,
    ) -> anyhow::Result<Self> {
        let (jobs, queue) = crossbeam_channel::unbounded();
        let progress = Arc::new(SharedDone::default());
        progress.change(|done| done.synced = synced);
        let worker = Worker { dir, database, history, progress: Arc::clone(&progress) };
        let thread = std::thread::Builder::new()
            .name("chain-disk".to_owned())
            .spawn(move || worker.run(&queue))
            .context("no thread for the chain's files")?;
        Ok(Self { jobs: Some(jobs), progress, thread: Some(thread) })
    }

    /// Begins to sync the journal, which holds the blocks up to `number`.
    pub fn sync(&self, file: File, number: u64) -> anyhow::Result<()> {
        self.send(Job::Sync(file, number))
    }

    /// Begins to move blocks into the database.
    pub fn move_blocks(&self, blocks: Vec<Arc<Block>>) -> anyhow::Result<()> {
        self.progress.change(|done| done.moves_under_way = done.moves_under_way.saturating_add(1));
        self.send(Job::Move(blocks))
    }

    /// Waits until the blocks up to `number` are on the disk.
    pub fn wait_until_synced(&self, number: u64) -> anyhow::Result<()> {
        self.progress.wait_until(|done| done.synced >= number)
    }

    /// Waits until no blocks are being moved.
    pub fn wait_until_moved(&self) -> anyhow::Result<()> {
        self.progress.wait_until(|done| done.moves_under_way == 0)
    }

    /// Blocks up to this number are on the disk.
    pub fn synced(&self) -> u64 {
        self.progress.lock().synced
    }

    pub fn is_moving(&self) -> bool {
        self.progress.lock().moves_under_way > 0
    }

    /// An error if the thread has met one.
    pub fn check(&self) -> anyhow::Result<()> {
        failure_of(&self.progress.lock())
    }

    fn send(&self, job: Job) -> anyhow::Result<()> {
        let jobs = self.jobs.as_ref().context("the chain's files are closed")?;
        jobs.send(job).map_err(|_| anyhow!("the thread of the chain's files is gone"))
    }
}

/// The thread ends when it has done what it was asked for.
impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    dir: PathBuf,
    database: Arc<ChainDatabase>,
    history: Arc<History>,
    progress: Arc<SharedDone>,
}

impl Worker {
    fn run(&self, queue: &Receiver<Job>) {
        for job in queue {
            if let Err(error) = self.work(job) {
                self.progress.change(|done| done.failure = Some(error.to_string()));
                return;
            }
        }
    }

    fn work(&self, job: Job) -> Result<(), ChainFileError> {
        match job {
            Job::Sync(file, number) => {
                file.sync_data().map_err(super::error::at(&self.dir))?;
                self.progress.change(|done| done.synced = done.synced.max(number));
            }
            Job::Move(blocks) => {
                self.database.add(&blocks)?;
                journal::forget_rotated(&self.dir)?;
                // The new journal's name has to be on the disk before a sync of its content counts.
                sync_dir(&self.dir)?;
                self.history.forget(&blocks);
                let last = blocks.last().map_or(0, |block| block.number);
                self.progress.change(|done| {
                    done.synced = done.synced.max(last);
                    done.moves_under_way = done.moves_under_way.saturating_sub(1);
                });
            }
        }
        Ok(())
    }
}

/// Puts the names of a folder's files on the disk.
pub fn sync_dir(dir: &std::path::Path) -> Result<(), ChainFileError> {
    File::open(dir).and_then(|folder| folder.sync_all()).map_err(super::error::at(dir))
}
