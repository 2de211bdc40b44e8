//! Snapshots of the conversation, and activities.

use super::planted::Fault;
use super::thread::Thread;
use super::warning::{Warning, Warnings};
use crate::agui::event::{ActivityDelta, ActivitySnapshot};
use crate::agui::message::{ActivityMessage, Message, Role};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use serde_json::Value;

impl Thread {
    /// Reconciles the messages with the set that the producer holds: what it holds is replaced where it stands, what it
    /// adds comes last, what it does not hold is dropped. Activities and reasoning, which many producers know nothing of,
    /// are dropped only by a snapshot that holds some of their role.
    pub(super) fn reconcile(&mut self, snapshot: &[Message]) {
        if self.planted(Fault::SnapshotReorders) {
            self.messages.clear();
        }
        let (keeps_all, drops_foreign) =
            (self.planted(Fault::SnapshotKeepsAll), self.planted(Fault::SnapshotDropsForeign));
        let mut held: BTreeMap<&str, &Message> = BTreeMap::new();
        let mut roles: BTreeSet<Role> = BTreeSet::new();
        for message in snapshot {
            held.insert(message.id(), message);
            roles.insert(message.role());
        }
        let foreign = |role: Role| {
            matches!(role, Role::Activity | Role::Reasoning) && !roles.contains(&role) && !drops_foreign
        };
        let mut messages = Vec::new();
        for message in core::mem::take(&mut self.messages) {
            match held.remove(message.id()) {
                Some(restated) => messages.push(restated.clone()),
                None if foreign(message.role()) || keeps_all => messages.push(message),
                None => {}
            }
        }
        for message in snapshot {
            // What is still held was not there before.
            if let Some(message) = held.remove(message.id()) {
                messages.push(message.clone());
            }
        }
        for message in &messages {
            if let Message::Tool(result) = message {
                self.pending.remove(&result.tool_call_id);
            }
        }
        self.messages = messages;
        self.index();
    }

    pub(super) fn show_activity(&mut self, event: &ActivitySnapshot, at: usize, warnings: &mut Warnings) {
        let (always, keeps_owner) =
            (self.planted(Fault::ActivityAlwaysReplaces), self.planted(Fault::ActivityKeepsOwner));
        let id = &event.message_id;
        match self.message_mut(id) {
            Some(Message::Activity(activity)) => {
                if event.replace != Some(false) || always {
                    activity.activity_type.clone_from(&event.activity_type);
                    activity.content.clone_from(&event.content);
                    if !keeps_owner {
                        activity.subagent_run_id.clone_from(&event.subagent_run_id);
                    }
                }
            }
            Some(_) => {
                return warnings.push(Warning::NoTarget { event: at, wanted: "activity", id: id.clone() });
            }
            None => {
                let activity = ActivityMessage {
                    id: id.clone(),
                    activity_type: event.activity_type.clone(),
                    content: event.content.clone(),
                    metadata: None,
                    subagent_run_id: event.subagent_run_id.clone(),
                };
                self.add(activity.into());
            }
        }
        self.merge(id, &event.base);
    }

    pub(super) fn amend_activity(&mut self, event: &ActivityDelta, at: usize, warnings: &mut Warnings) {
        let id = &event.message_id;
        let anything = self.planted(Fault::ActivityIsAnything);
        if self.planted(Fault::ActivityDeltaCreates) && !self.places.contains_key(id) {
            self.add(ActivityMessage { id: id.clone(), ..ActivityMessage::default() }.into());
        }
        let Some(Message::Activity(activity)) = self.message_mut(id) else {
            return warnings.push(Warning::NoTarget { event: at, wanted: "activity", id: id.clone() });
        };
        // Taken out for the time being, so that nothing is copied unless the patch turns the whole content around.
        let mut content = Value::Object(core::mem::take(&mut activity.content));
        let whole = event.patch.iter().any(|operation| operation.act.path().is_empty());
        let before = if whole { Some(content.clone()) } else { None };
        let patched = self.patch_content(&mut content, &event.patch);
        let is_object = content.is_object() || anything;
        let error = patched.err();
        if error.is_some() || !is_object {
            warnings.push(Warning::ActivityPatch { event: at, id: id.clone(), error: error.clone() });
        }
        if let Some(before) = before.filter(|_| !is_object) {
            content = before;
        }
        if let Some(Message::Activity(activity)) = self.message_mut(id) {
            if let Value::Object(content) = content {
                activity.content = content;
            }
            if error.is_none() && is_object {
                activity.activity_type.clone_from(&event.activity_type);
            }
        }
        self.merge(id, &event.base);
    }
}
