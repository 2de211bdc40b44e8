//! What a session knows about the size of its context, in a snapshot and in a journal (S3, L7, K1).

use super::context::{ContextState, Measured};
use crate::journal::{exact, read_exact};
use crate::saved::{Build, ImportError, Node, Place, flag, object};

pub(crate) fn write_context(context: &ContextState) -> Node {
    let ContextState { measured, last, failures, unproven, told } = *context;
    let measured = measured.map(|Measured { reported, local, is_prefix }| {
        Build::new()
            .with("reported", exact(reported))
            .with("estimated", exact(local))
            .flag("prefix", is_prefix)
            .end()
    });
    Build::new()
        .maybe("measured", measured)
        .maybe("last_tokens", last.map(exact))
        .number("failures", failures)
        .maybe("unproven_failures", unproven.map(|failures| Node::number(u64::from(failures))))
        .maybe("told", told.then_some(Node::Bool(true)))
        .end()
}

pub(crate) fn read_context(node: &Node, place: &Place<'_>) -> Result<ContextState, ImportError> {
    let measured = |node: &Node, place: &Place<'_>| {
        object(node, place, |fields| {
            let reported = fields.need("reported", read_exact)?;
            let local = fields.need("estimated", read_exact)?;
            Ok(Measured { reported, local, is_prefix: fields.flag("prefix")? })
        })
    };
    object(node, place, |fields| {
        Ok(ContextState {
            measured: fields.maybe("measured", measured)?,
            last: fields.maybe("last_tokens", read_exact)?,
            failures: fields.small("failures")?,
            unproven: fields.maybe("unproven_failures", crate::saved::small)?,
            told: fields.maybe("told", flag)?.unwrap_or(false),
        })
    })
}
