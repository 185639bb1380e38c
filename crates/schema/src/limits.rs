//! The budget. `docs/api.md` publishes these numbers; change both together.

/// Longest schema, in bytes of compact JSON.
pub const MAX_BYTES: usize = 128 * 1024;
/// Deepest nesting of the schema's own JSON.
pub const MAX_DEPTH: usize = 64;
/// Values (objects, arrays, strings, numbers, …) in the schema's JSON.
pub const MAX_VALUES: usize = 20_000;
/// Places of the schema that hold a schema: the root, each property, each branch, each definition.
pub const MAX_SUBSCHEMAS: usize = 4_096;
/// `$ref` keywords.
pub const MAX_REFERENCES: usize = 1_024;
/// Subschemas that one value can meet at most, over `$ref`, `allOf`, `anyOf`, `oneOf`, `not`, `if` and
/// `dependentSchemas`, each counted as often as it is reached.
pub const MAX_EXPANSIONS: u64 = 4_096;
/// Bytes of all subschemas' JSON pointers together: the compiled form names its place in each node.
pub const MAX_POINTER_BYTES: usize = 4 * 1024 * 1024;

/// Different regular expressions.
pub const MAX_PATTERNS: usize = 128;
/// Longest regular expression, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1_024;
/// Memory of one compiled regular expression, in bytes.
pub const MAX_PATTERN_MEMORY: usize = 512 * 1024;
/// Memory of all compiled regular expressions of a schema, in bytes.
pub const MAX_PATTERNS_MEMORY: usize = 1024 * 1024;

/// Steps of one evaluation. A step is about the time in which a keyword looks at a number.
pub const MAX_STEPS: u64 = 5_000_000;
/// Steps that explain why a value matches no branch of `anyOf`, `oneOf` and similar keywords. Beyond them, the
/// caller learns only that the value does not match.
pub const MAX_EXPLANATION_STEPS: u64 = 50_000;
/// Nested subschemas during an evaluation. A stack of [`STACK_BYTES`] is large enough for them.
pub const MAX_NESTING: usize = 1_024;

/// Both limits for an evaluation that any thread may run.
pub const LIGHT_STEPS: u64 = 20_000;
pub const LIGHT_NESTING: usize = 48;

/// Stack of a thread that calls [`crate::Schema::compile`] or [`crate::Schema::check`], in bytes.
pub const STACK_BYTES: usize = 64 * 1024 * 1024;
