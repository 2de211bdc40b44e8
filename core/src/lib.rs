//! The runloom state machine.
#![no_std]
extern crate alloc;
