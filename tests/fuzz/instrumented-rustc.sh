#!/bin/sh
# Compiles what it is given so that libFuzzer sees which branches run and what they compare, fast, and with all assertions.
# Cargo calls it for the crates of this workspace alone (`RUSTC_WORKSPACE_WRAPPER`). Build scripts do not link libFuzzer.
case " $* " in
*" --crate-name build_script_"* | *" --print"* | *" -vV"*) exec "$@" ;;
esac
exec "$@" -Copt-level=2 -Cdebug-assertions=on -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
