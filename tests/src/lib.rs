//! Shared helpers of the test suites.

pub mod bare;
pub mod corpora;

/// The Rust code of README.md, compiled and run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

pub mod providers;
pub mod runs;
