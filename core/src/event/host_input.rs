//! Encoding of the events about host input (H1).

use super::{HostAnswered, HostFailed};
use crate::config::CLOSING_TEXT;
use crate::host_input::{HostRequest, RequestKind};
use crate::json::{Object, Out, encoded_prefix};
use crate::time::micros;

fn write_call<O: Out>(o: &mut Object<'_, O>, request: &HostRequest) {
    o.str("call_id", &request.call.id);
}

fn write_ids<O: Out>(o: &mut Object<'_, O>, request: &HostRequest) {
    o.str("request_id", request.id.as_str());
}

pub(super) fn requested<O: Out>(o: &mut Object<'_, O>, request: &HostRequest) {
    let mut because = None;
    if let RequestKind::Approval { binding, reason } = &request.kind {
        let out = o.key("binding");
        out.push(b"\"");
        binding.write_hex(out);
        out.push(b"\"");
        because = Some(encoded_prefix(reason, CLOSING_TEXT)).filter(|reason| !reason.is_empty());
    }
    write_call(o, request);
    if let RequestKind::Question(question) = &request.kind {
        question.form.write(o.key("form"));
    }
    o.str("kind", request.kind.as_str()).u64("ordinal", u64::from(request.call.call.ordinal));
    o.opt_str("reason", because);
    write_ids(o, request);
    o.u64("step", u64::from(request.call.call.step)).opt_u64("timeout_us", request.timeout.map(micros));
}

pub(super) fn answered<O: Out>(o: &mut Object<'_, O>, answered: &HostAnswered) {
    let request = &*answered.request;
    if let Some(answer) = &answered.answer {
        answer.write(o.key("answer"));
    }
    write_call(o, request);
    o.u64("ordinal", u64::from(request.call.call.ordinal));
    write_ids(o, request);
    o.str("source", answered.source.as_str()).u64("step", u64::from(request.call.call.step));
}

pub(super) fn failed<O: Out>(o: &mut Object<'_, O>, failed: &HostFailed) {
    write_call(o, &failed.request);
    o.u64("ordinal", u64::from(failed.request.call.call.ordinal)).str("reason", failed.error.as_str());
    write_ids(o, &failed.request);
    o.u64("step", u64::from(failed.request.call.call.step));
}

pub(super) fn cancelled<O: Out>(o: &mut Object<'_, O>, request: &HostRequest) {
    write_call(o, request);
    o.u64("ordinal", u64::from(request.call.call.ordinal));
    write_ids(o, request);
    o.u64("step", u64::from(request.call.call.step));
}
