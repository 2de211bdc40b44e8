# shellcheck shell=bash
# Sourced. Picks a compiler for a target without an operating system (wasm32-unknown-unknown, thumbv7em-none-eabihf):
#
#   1. the toolchain's own library for that target, where `rustup target add TARGET` has installed it;
#   2. else Debian's compiler (packages rustc-web and rust-web-src), driven by the same cargo, with a standard library that
#      is built once from its source into a cache and linked by the linker of the toolchain at hand.
#
# RUNLOOM_CI_DEBIAN=1 takes the second way even where the first is open.

debian_rustc=/usr/bin/rustc
debian_source=/usr/lib/rustlib/src/rust/library

# use_target TARGET CRATES: exports what cargo needs to build for TARGET, with CRATES as library (`core,alloc`,
# `std,panic_abort,test`). Sets `toolchain` to `installed` or `debian`. Call it in a subshell: RUSTC stays set.
use_target() {
  local name=$1 crates=$2 upper
  if [ -z "${RUNLOOM_CI_DEBIAN:-}" ] && has_library "$name" "${crates%%,*}"; then
    toolchain=installed
    echo "$name: $(rustc -V) and its own library"
    return
  fi
  toolchain=debian
  debian_compiler || debian rustc-web rust-web-src
  debian_compiler || fail "$name: no library for it. Either: rustup target add $name, or on Debian rustc-web and rust-web-src"
  local sysroot
  sysroot=$(sysroot "$name" "$crates")
  upper=${name//-/_} upper=${upper^^}
  # A folder of its own: another compiler would make cargo build everything anew at each change between the two.
  export RUSTC=$debian_rustc CARGO_TARGET_DIR=$target/debian "CARGO_TARGET_${upper}_RUSTFLAGS=--sysroot=$sysroot"
  case $name in wasm*) export "CARGO_TARGET_${upper}_LINKER=$(linker)" ;; esac
  echo "$name: $($debian_rustc -V), library in $sysroot"
}

has_library() { compgen -G "$(rustc --print sysroot)/lib/rustlib/$1/lib/lib$2-*.rlib" >/dev/null; }

debian_compiler() {
  [ -x $debian_rustc ] && [ -e $debian_source/Cargo.lock ] &&
    at_least "$($debian_rustc -V | cut -d' ' -f2)" "$(rust_version)"
}

linker() {
  local found
  found=$(compgen -G "$(rustc --print sysroot)/lib/rustlib/*/bin/rust-lld" || true)
  echo "${found:-rust-lld}" | head -n 1
}

# sysroot TARGET CRATES: builds the library once for each compiler and prints the folder.
sysroot() {
  local name=$1 crates=$2 cache key folder library
  cache=${RUNLOOM_CI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/runloom-ci}
  # The last word changes when the recipe below does.
  key=$({ $debian_rustc -Vv; echo "$crates 1"; } | sha256sum | cut -c1-16)
  folder=$cache/$name-$key library=$cache/$name-$key/lib/rustlib/$name/lib
  mkdir -p "$cache"
  (
    flock 9 # two runs on one machine build it once
    [ -e "$library/.complete" ] || build_library "$name" "$crates" "$library" >&2
  ) 9>"$cache/$name-$key.lock"
  echo "$folder"
}

build_library() {
  local name=$1 crates=$2 library=$3 work options=()
  work=$(mktemp -d)
  # A small library makes a small module; `core` alone has no such feature.
  case ,$crates, in *,std,*) options=(-Z build-std-features=optimize_for_size) ;; esac
  mkdir "$work/src"
  echo '#![no_std]' >"$work/src/lib.rs"
  printf '%s\n' '[package]' 'name = "seed"' 'version = "0.0.0"' 'edition = "2024"' '[workspace]' \
    '[profile.release]' 'opt-level = "s"' >"$work/Cargo.toml"
  (
    cd "$work"
    unset RUSTFLAGS CARGO_BUILD_RUSTFLAGS CARGO_BUILD_TARGET_DIR RUSTC_WRAPPER
    # Bitcode, so that a final link can optimize over the library too.
    CARGO_TARGET_DIR=$work/target RUSTC=$debian_rustc RUSTC_BOOTSTRAP=1 CARGO_ENCODED_RUSTFLAGS=-Cembed-bitcode=yes \
      cargo build --release --target "$name" -Z build-std="$crates" "${options[@]}"
  )
  rm -rf "$library"
  mkdir -p "$library"
  cp "$work/target/$name"/release/deps/*.rlib "$library/"
  rm -rf "$library"/libseed-* "$work"
  touch "$library/.complete"
}
