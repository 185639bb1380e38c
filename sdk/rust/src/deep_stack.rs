//! Schemas of strangers need more stack than the threads of a runtime have.

use std::{io, thread};

use crtx_schema::limits::STACK_BYTES;

pub fn on_a_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("a schema could not be read"))
    })
}
