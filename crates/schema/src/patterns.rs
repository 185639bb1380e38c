//! What a schema's regular expressions cost: each is compiled once under a memory limit, by the engine family
//! that evaluates it later (finite automata, linear in the text).

use std::collections::HashMap;

use crtx_protocol::text::shortened;
use regex_automata::nfa::thompson::{self, NFA};

use crate::{
    error::{MAX_QUOTE_CHARS, SchemaError},
    limits,
    scan::over,
};

/// Caches of one expression on all threads that use it, in bytes.
const CACHES: usize = 256 * 1024;

/// The regular expressions of one schema, by their text.
#[derive(Default)]
pub(crate) struct Patterns {
    steps_per_byte: HashMap<String, u64>,
    memory: usize,
}

impl Patterns {
    /// Counts a pattern against the limits. Returns its highest number of steps for each byte of text.
    pub fn admit(&mut self, pattern: &str) -> Result<u64, SchemaError> {
        if let Some(steps) = self.steps_per_byte.get(pattern) {
            return Ok(*steps);
        }
        over(pattern.len(), limits::MAX_PATTERN_BYTES, "bytes in one regular expression")?;
        over(self.steps_per_byte.len().saturating_add(1), limits::MAX_PATTERNS, "regular expressions")?;
        let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|()| refused(pattern))?;
        let config = thompson::Config::new().nfa_size_limit(Some(limits::MAX_PATTERN_MEMORY));
        let nfa = NFA::compiler().configure(config).build(&translated).map_err(|_| refused(pattern))?;
        self.memory = self.memory.saturating_add(nfa.memory_usage());
        over(self.memory, limits::MAX_PATTERNS_MEMORY, "bytes of compiled regular expressions")?;
        // In the worst case each byte meets every state of the automaton.
        let steps = (nfa.states().len() as u64 / 8).saturating_add(1);
        self.steps_per_byte.insert(pattern.to_owned(), steps);
        Ok(steps)
    }

    /// Memory of the compiled expressions: automata forwards and backwards, and the caches of each thread.
    pub fn memory_bytes(&self) -> usize {
        let caches = self.steps_per_byte.len().saturating_mul(CACHES);
        self.memory.saturating_mul(4).saturating_add(caches)
    }
}

fn refused(pattern: &str) -> SchemaError {
    SchemaError::Pattern(shortened(pattern, MAX_QUOTE_CHARS))
}
