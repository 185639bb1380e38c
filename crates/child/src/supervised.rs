//! A server as a child process that ends with this process, however this process ends.

use std::{ffi::OsStr, process::Stdio};

use tokio::process::Command;

/// Starts the server (the arguments after two signals), sends it the first signal when standard input closes, and ends
/// with it. Standard input closes when the parent says so and also when the parent is killed.
///
/// A server that still runs six seconds later gets the second signal. PostgreSQL 15 has a fault: when a backend was
/// killed and the server recovers from that, a shutdown waits for the checkpointer forever.
const SUPERVISOR: &str = r#"
stop=$1 end=$2
shift 2
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{
    cat <&3 >/dev/null 2>&1
    kill -$stop $server 2>/dev/null
    for second in 1 2 3 4 5 6; do sleep 1; done
    kill -$end $server 2>/dev/null
} &
watcher=$!
exec 3<&-
wait $server
status=$?
kill $watcher 2>/dev/null
exit $status
"#;

/// How a server is stopped: the name of a signal that asks it to, and of one that ends it six seconds later. A program
/// without a handler ignores `INT` and `QUIT` here, as every background process of a shell does.
pub type Signals = [&'static str; 2];

/// A command that runs `program` with the arguments that are added to it. The program is stopped when the child's
/// standard input, a pipe, closes.
pub fn supervised(signals: Signals, program: &(impl AsRef<OsStr> + ?Sized)) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", SUPERVISOR, "sh"]).args(signals).arg(program).stdin(Stdio::piped());
    // Ctrl-C in a terminal goes to the whole process group; the server has to outlive its clients.
    command.process_group(0);
    command
}
