#!/usr/bin/env bash
# Teaches a copy of the standard library's sources an operating system called `solana`.
#
#   overlay-std.sh LIBRARY/std/src
set -euo pipefail
std=$1

# Alignment that the allocator guarantees on this architecture.
sed -i 's/^    target_arch = "riscv64",$/    target_arch = "riscv64",\n    target_arch = "bpf",/' "$std/sys/alloc/mod.rs"
# `System` exists but never serves: a program brings its own #[global_allocator].
sed -i 's/^    target_os = "zkvm" => {$/    any(target_os = "zkvm", target_os = "solana") => {/' "$std/sys/alloc/mod.rs"
printf '%s\n' 'use crate::alloc::{GlobalAlloc, Layout, System};' \
  '#[stable(feature = "alloc_system_type", since = "1.28.0")]' \
  'unsafe impl GlobalAlloc for System {' \
  '    unsafe fn alloc(&self, _: Layout) -> *mut u8 { crate::ptr::null_mut() }' \
  '    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}' '}' > "$std/sys/alloc/zkvm.rs"
# One thread, generic io errors, no entropy.
sed -i 's/^\( *\)target_os = "zkvm",$/\1target_os = "zkvm", target_os = "solana",/' "$std/sys/thread_local/mod.rs" "$std/sys/io/error/mod.rs"
sed -i 's/^\( *\)target_os = "xous",$/\1target_os = "xous", target_os = "solana",/' "$std/sys/random/mod.rs"
# HashMap keys are fixed, since a program may own no writable static.
python3 - "$std/hash/random.rs" <<'PY'
import sys
path = sys.argv[1]
text = open(path).read()
head = 'pub fn new() -> RandomState {'
start = text.index(head) + len(head)
end = text.index('})\n', text.index('KEYS.with(|keys| {', start)) + 3
text = (text[:start] + '\n        #[cfg(target_os = "solana")]\n        return RandomState { k0: 0, k1: 1 };\n'
        '        #[cfg(not(target_os = "solana"))]\n        {' + text[start:end] + '        }\n' + text[end:])
open(path, 'w').write(text)
PY
