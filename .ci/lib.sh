# shellcheck shell=bash
# Sourced by `.ci/run` and by every part: strict mode, the project's root as working folder, a few words.
set -euo pipefail
shopt -s inherit_errexit # a failure inside of $(...) is one too
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "failed: $*" >&2; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
run() { printf '$ %s\n' "$*"; "$@"; }

# need COMMAND PACKAGE: COMMAND is there, if need be from the Debian package.
need() { command -v "$1" >/dev/null || debian "$2"; }

# debian PACKAGE...: installs them where that is allowed.
debian() {
  if [ -n "${CI:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    local apt=(apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    "${apt[@]}" update >&2
    DEBIAN_FRONTEND=noninteractive "${apt[@]}" install -y --no-install-recommends "$@" >&2
  else
    fail "missing; on Debian: apt-get install --no-install-recommends $*"
  fi
}

# The `rust-version` that the workspace promises.
rust_version() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }

# at_least A B: version A is B or later.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# features PACKAGE: the names of its features, without `default`.
features() {
  need python3 python3
  cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["name"] == sys.argv[1]:
        print(*sorted(set(package["features"]) - {"default"}), sep="\n")' "$1"
}

# Keeps the toolchain that was first in PATH first, even when a Debian package later brings another one.
command -v cargo >/dev/null || PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
cargo=$(command -v cargo) || fail "no cargo: install Rust $(rust_version) or later"
PATH=$(dirname "$cargo"):$PATH
command -v cc >/dev/null || debian gcc libc6-dev

export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
# What is built once and thrown away needs no incremental state and no full debug information.
[ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only
target=${CARGO_TARGET_DIR:-$PWD/target}
