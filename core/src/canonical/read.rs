//! From a text to a tree: strict, bounded, and without recursion.

use super::node::{Node, canonical};
use super::scan::Scanner;
use super::{Bounds, CanonicalError, CanonicalProblem as Problem, MAX_DEPTH};
use crate::text::Text;
use alloc::string::ToString;
use alloc::vec::Vec;

/// What becomes of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Each is a double, as RFC 8785 has it; equal ones give equal nodes.
    Doubles,
    /// An integer of 64 bits stays the integer that it is, and one that is written otherwise is none.
    AsWritten,
}

/// Why and where reading stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stop {
    pub(super) at: usize,
    pub(super) problem: Problem,
}

/// Reads one value.
pub(crate) struct Reader<'a> {
    scanner: Scanner<'a>,
    bounds: Bounds,
    numbers: Numbers,
    values: u64,
    /// What stands open, outermost first.
    open: Vec<Open>,
    /// Items of all open lists, and members of all open objects: each takes its own from its start on when it is closed,
    /// into exactly as much memory as they need.
    items: Vec<Node>,
    members: Vec<(Text, Node)>,
    /// What a second reading looks for.
    wanted: Option<Wanted>,
}

enum Open {
    /// Its items begin at `first`.
    List { first: usize },
    /// Its members begin at `first`, and its text at `at`; `name` is that of the member that is being read.
    Object { first: usize, at: usize, name: Option<Text> },
}

/// A name of the outermost object, and the places where it stood first and second.
struct Wanted {
    name: Text,
    places: [Option<usize>; 2],
}

/// What follows a value.
enum After {
    /// Another one.
    Value,
    /// What it stood in is closed and is a value itself.
    Closed(Node),
    /// Nothing: it was the outermost.
    End(Node),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str, bounds: &Bounds, numbers: Numbers) -> Self {
        let bounds = Bounds { depth: bounds.depth.min(MAX_DEPTH), ..*bounds };
        Self {
            scanner: Scanner::new(text),
            bounds,
            numbers,
            values: 0,
            open: Vec::new(),
            items: Vec::new(),
            members: Vec::new(),
            wanted: None,
        }
    }

    /// The value, if nothing follows it.
    pub(crate) fn read(&mut self) -> Result<Node, CanonicalError> {
        let error = |stop: Stop| CanonicalError { at: stop.at as u64, problem: stop.problem };
        let node = self.value().map_err(error)?;
        match self.scanner.peek() {
            None => Ok(node),
            Some(_) => self.scanner.stop(Problem::Trailing).map_err(error),
        }
    }

    /// After an error: the names and places on the way to it, outermost first.
    pub(crate) fn path(&self) -> impl Iterator<Item = Text> + '_ {
        self.open.iter().enumerate().filter_map(|(depth, open)| match open {
            Open::Object { name, .. } => name.clone(),
            Open::List { first } => {
                let inner = self.open.iter().skip(depth + 1);
                let next = { inner }.find_map(Open::first_item).unwrap_or(self.items.len());
                Some(Text::from((next - first).to_string()))
            }
        })
    }

    fn value(&mut self) -> Result<Node, Stop> {
        loop {
            let Some(mut node) = self.begin()? else { continue };
            loop {
                match self.end(node)? {
                    After::Value => break,
                    After::Closed(outer) => node = outer,
                    After::End(node) => return Ok(node),
                }
            }
        }
    }

    /// Begins a value; `None` if it was opened and has one inside.
    fn begin(&mut self) -> Result<Option<Node>, Stop> {
        let byte = self.scanner.peek();
        self.values += 1;
        if self.values > self.bounds.values && byte.is_some() {
            return self.scanner.stop(Problem::TooMany { limit: self.bounds.values });
        }
        let scanner = &mut self.scanner;
        match byte {
            Some(b'"') => {
                scanner.at += 1;
                scanner.string().map(|text| Some(Node::Text(text)))
            }
            Some(b'{') => self.open_object(),
            Some(b'[') => self.open_list(),
            Some(b'-' | b'0'..=b'9') => scanner.number(self.numbers).map(Some),
            Some(b't') => scanner.literal("true", Node::Bool(true)).map(Some),
            Some(b'f') => scanner.literal("false", Node::Bool(false)).map(Some),
            Some(b'n') => scanner.literal("null", Node::Null).map(Some),
            Some(_) | None => scanner.stop(Problem::Expected("a value")),
        }
    }

    fn deeper(&self) -> Result<(), Stop> {
        let limit = self.bounds.depth;
        if self.open.len() >= limit { self.scanner.stop(Problem::TooDeep { limit }) } else { Ok(()) }
    }

    fn open_list(&mut self) -> Result<Option<Node>, Stop> {
        self.deeper()?;
        self.scanner.at += 1;
        if self.scanner.peek() == Some(b']') {
            self.scanner.at += 1;
            return Ok(Some(Node::List(Vec::new())));
        }
        self.open.push(Open::List { first: self.items.len() });
        Ok(None)
    }

    fn open_object(&mut self) -> Result<Option<Node>, Stop> {
        self.deeper()?;
        let at = self.scanner.at;
        self.scanner.at += 1;
        if self.scanner.peek() == Some(b'}') {
            self.scanner.at += 1;
            return Ok(Some(Node::Object(Vec::new())));
        }
        self.open.push(Open::Object { first: self.members.len(), at, name: None });
        self.name("a name or the end of the object")?;
        Ok(None)
    }

    /// The name of the next member of what was opened last, and its colon.
    fn name(&mut self, expected: &'static str) -> Result<(), Stop> {
        if self.scanner.peek() != Some(b'"') {
            return self.scanner.stop(Problem::Expected(expected));
        }
        let place = self.scanner.at;
        self.scanner.at += 1;
        let found = self.scanner.string()?;
        if let Some(wanted) = self.wanted.as_mut().filter(|wanted| wanted.name == found)
            && self.open.len() == 1
            && let Some(free) = wanted.places.iter_mut().find(|place| place.is_none())
        {
            *free = Some(place);
        }
        if let Some(Open::Object { name, .. }) = self.open.last_mut() {
            *name = Some(found);
        }
        if self.scanner.peek() != Some(b':') {
            return self.scanner.stop(Problem::Expected("a colon"));
        }
        self.scanner.at += 1;
        Ok(())
    }

    /// Puts a value where it belongs, and looks at what follows.
    fn end(&mut self, node: Node) -> Result<After, Stop> {
        match self.open.last_mut() {
            None => Ok(After::End(node)),
            Some(Open::List { first }) => {
                let first = *first;
                self.items.push(node);
                match self.scanner.peek() {
                    Some(b',') => {
                        self.scanner.at += 1;
                        Ok(After::Value)
                    }
                    Some(b']') => {
                        self.scanner.at += 1;
                        self.open.pop();
                        Ok(After::Closed(Node::List(self.items.drain(first..).collect())))
                    }
                    Some(_) | None => self.scanner.stop(Problem::Expected("a comma or the end of the list")),
                }
            }
            Some(Open::Object { name, .. }) => {
                self.members.push((name.take().unwrap_or_default(), node));
                match self.scanner.peek() {
                    Some(b',') => {
                        self.scanner.at += 1;
                        self.name("a name")?;
                        Ok(After::Value)
                    }
                    Some(b'}') => self.close_object(),
                    Some(_) | None => {
                        self.scanner.stop(Problem::Expected("a comma or the end of the object"))
                    }
                }
            }
        }
    }

    fn close_object(&mut self) -> Result<After, Stop> {
        let Some(Open::Object { first, at, .. }) = self.open.last() else {
            return self.scanner.stop(Problem::Expected("an object"));
        };
        let at = *at;
        let mut members: Vec<_> = self.members.drain(*first..).collect();
        if !members.is_sorted_by(|(a, _), (b, _)| canonical(a, b).is_lt()) {
            members.sort_unstable_by(|(a, _), (b, _)| canonical(a, b));
            let twice = members.windows(2).find_map(|pair| match pair {
                [(a, _), (b, _)] if a == b => Some(a.clone()),
                _ => None,
            });
            if let Some(twice) = twice {
                return Err(self.twice(at, twice));
            }
        }
        self.scanner.at += 1;
        self.open.pop();
        Ok(After::Closed(Node::Object(members)))
    }

    /// Finds the second place of a name in the object at `at`, and leaves the name as the last step of the path.
    fn twice(&mut self, at: usize, twice: Text) -> Stop {
        let mut place = at;
        if self.wanted.is_none() {
            let object = self.scanner.text.get(at..=self.scanner.at).unwrap_or_default();
            let mut again = Reader::new(object, &self.bounds, self.numbers);
            again.wanted = Some(Wanted { name: twice.clone(), places: [None; 2] });
            // It ends with the same error.
            let _ = again.value();
            place += again.wanted.and_then(|wanted| wanted.places[1]).unwrap_or(0);
        }
        if let Some(Open::Object { name, .. }) = self.open.last_mut() {
            *name = Some(twice);
        }
        Stop { at: place, problem: Problem::Duplicate }
    }
}

impl Open {
    fn first_item(&self) -> Option<usize> {
        match self {
            Self::List { first } => Some(*first),
            Self::Object { .. } => None,
        }
    }
}
