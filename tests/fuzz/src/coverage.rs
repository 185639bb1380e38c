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

/// Counts the jumps of every program in every world. Called before the first one starts.
pub fn watch() {
    let mut svm = LiteSVM::new_debuggable(true);
    svm.set_invocation_inspect_callback(Watcher);
    crtx_program_tests::start_from(svm, &with_sections(crtx_program_tests::elf()));
}

/// The same program with a table of two sections that say nothing. A VM that traces expects one, and the committed ELF
/// has none.
fn with_sections(elf: &[u8]) -> Vec<u8> {
    const HEADER: usize = 64;
    const STRING_TABLE: u32 = 3;
    let mut all = elf.to_vec();
    all.resize(all.len().next_multiple_of(8), 0);
    let table = all.len();
    all.resize(table + 2 * HEADER, 0);
    let mut put = |at: usize, bytes: &[u8]| all[at..at + bytes.len()].copy_from_slice(bytes);
    // The second section has the names: one zero byte, which is in the first one.
    put(table + HEADER + 4, &STRING_TABLE.to_le_bytes());
    put(table + HEADER + 24, &table.to_le_bytes());
    put(table + HEADER + 32, &1_u64.to_le_bytes());
    // Where the table is, how many sections it has, and which one has the names.
    put(0x28, &table.to_le_bytes());
    put(0x3c, &2_u16.to_le_bytes());
    put(0x3e, &1_u16.to_le_bytes());
    all
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
