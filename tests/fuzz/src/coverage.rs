//! Shows libFuzzer which branches of the ELF run: the compiler instruments this workspace, not the program in the VM.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use litesvm::{InvocationInspectCallback, LiteSVM};
use solana_program_runtime::invoke_context::InvokeContext;
use solana_transaction::sanitized::SanitizedTransaction;

const COUNTERS: usize = 1 << 16;

// libFuzzer reads every counter of this section after a run, and sets it to zero before the next one.
#[expect(unsafe_code, reason = "the section has to have a name")]
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static JUMPS: [AtomicU8; COUNTERS] = [const { AtomicU8::new(0) }; COUNTERS];

/// Counts the jumps of every program in every world that starts on this thread from now on.
pub fn watch() {
    let mut svm = LiteSVM::new_debuggable(true);
    svm.set_invocation_inspect_callback(Watcher);
    crtx_program_tests::start_from(svm);
}

struct Watcher;

impl InvocationInspectCallback for Watcher {
    fn before_invocation(&self, _: &LiteSVM, _: &SanitizedTransaction, _: &[u16], _: &mut InvokeContext, _: bool) {}

    fn after_invocation(&self, _: &LiteSVM, _: &SanitizedTransaction, _: &[u16], context: &InvokeContext, _: bool) {
        context.iterate_vm_traces(&|_, _, trace| {
            // The last register is the program counter.
            for pair in trace.windows(2) {
                let (from, to) = (pair[0][11], pair[1][11]);
                if to != from + 1 {
                    let jump = (from.wrapping_mul(31) ^ to) as usize % COUNTERS;
                    JUMPS[jump].store(JUMPS[jump].load(Relaxed).saturating_add(1), Relaxed);
                }
            }
        });
    }
}
