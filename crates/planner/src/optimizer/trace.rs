// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What happened in a run.

use std::fmt;

use crate::expr::BoundExpression;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A rule fired.
    Fired {
        /// The rule.
        rule: &'static str,
        /// The node it was given.
        before: BoundExpression,
        /// What it made of it.
        after: BoundExpression,
    },
    /// A rule left a note.
    Note {
        /// The rule.
        rule: &'static str,
        /// What it says.
        text: String,
    },
}

/// What happened in a run, in order. Prints one event a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    events: Vec<Event>,
}

impl Trace {
    /// Everything that happened.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The names of the rules that fired.
    pub fn fired(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.events.iter().filter_map(|event| match event {
            Event::Fired { rule, .. } => Some(*rule),
            Event::Note { .. } => None,
        })
    }

    pub(super) fn note(&mut self, rule: &'static str, text: String) {
        self.events.push(Event::Note { rule, text });
    }

    pub(super) fn firing(&mut self, rule: &'static str, before: &BoundExpression, after: &BoundExpression) {
        self.events.push(Event::Fired { rule, before: before.clone(), after: after.clone() });
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for event in &self.events {
            match event {
                Event::Fired { rule, before, after } => writeln!(f, "{rule}: {before} → {after}")?,
                Event::Note { rule, text } => writeln!(f, "{rule}: {text}")?,
            }
        }
        Ok(())
    }
}
