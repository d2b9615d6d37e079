// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Morsels read ahead: their requests run side by side, and their rows come in the order they were claimed.
//!
//! Everything is driven by whoever waits for the next morsel, so that dropping the window drops its requests.
//! A morsel that is found not to matter any more is dropped while it waits.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A read under way.
pub type Read<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Reads under way, the oldest first; `K` says what is read, `T` is what comes of it.
pub struct Window<K, T> {
    slots: VecDeque<Slot<K, T>>,
}

struct Slot<K, T> {
    what: K,
    state: State<T>,
}

enum State<T> {
    Running(Read<T>),
    Done(Option<T>),
}

impl<K, T> Default for Window<K, T> {
    fn default() -> Self {
        Self { slots: VecDeque::new() }
    }
}

impl<K: Unpin, T: Unpin> Window<K, T> {
    /// How many reads there are, finished ones included.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a read, which starts when somebody waits.
    pub fn push(&mut self, what: K, read: Read<T>) {
        self.slots.push_back(Slot { what, state: State::Running(read) });
    }

    /// Drops the reads that aren't to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.slots.retain(|slot| keep(&slot.what));
    }

    /// What came of the oldest read; the others go on meanwhile. `None` when there is none.
    pub async fn next(&mut self) -> Option<(K, T)> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<(K, T)>> {
        for slot in &mut self.slots {
            if let State::Running(read) = &mut slot.state
                && let Poll::Ready(value) = read.as_mut().poll(context)
            {
                slot.state = State::Done(Some(value));
            }
        }
        match self.slots.front_mut().map(|slot| &mut slot.state) {
            None => Poll::Ready(None),
            Some(State::Running(_)) => Poll::Pending,
            Some(State::Done(value)) => {
                let value = value.take();
                let slot = self.slots.pop_front();
                Poll::Ready(slot.and_then(|slot| Some((slot.what, value?))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::channel::oneshot::{Sender, channel};
    use futures::poll;

    use super::*;

    /// A read that ends when it is told what came of it.
    fn read(window: &mut Window<&'static str, u64>, what: &'static str) -> Sender<u64> {
        let (tell, told) = channel();
        window.push(what, Box::pin(async { told.await.unwrap() }));
        tell
    }

    #[tokio::test]
    async fn reads_run_side_by_side_and_come_in_order() {
        let mut window = Window::default();
        let [slow, fast, middle] = ["slow", "fast", "middle"].map(|what| read(&mut window, what));
        fast.send(1).unwrap();
        middle.send(2).unwrap();
        assert!(poll!(std::pin::pin!(window.next())).is_pending(), "the oldest isn't there yet");
        slow.send(3).unwrap();
        assert_eq!(window.next().await, Some(("slow", 3)));
        assert_eq!(window.next().await, Some(("fast", 1)));
        assert_eq!((window.next().await, window.len()), (Some(("middle", 2)), 0));
        assert_eq!(window.next().await, None);
    }

    #[tokio::test]
    async fn a_read_that_does_not_matter_is_dropped_with_its_request() {
        let mut window = Window::default();
        let [first, second] = ["first", "second"].map(|what| read(&mut window, what));
        assert!(poll!(std::pin::pin!(window.next())).is_pending());
        window.retain(|what| *what == "second");
        assert!(first.is_canceled() && !second.is_canceled());
        second.send(2).unwrap();
        assert_eq!(window.next().await, Some(("second", 2)));
    }
}
