//! A browser: pages of a main object and embedded objects, over one connection or several.
//!
//! The model is that of 3GPP2 (C.R1002, "cdma2000 Evaluation Methodology", the section on HTTP), which NGMN
//! and IEEE 802.16m have adopted. A page is one main object. When the browser has it, it parses it, and then
//! knows the embedded objects. When it has those, the page is loaded, and the user reads it. On one
//! connection all embedded objects are requested at once, as in HTTP/2 (RFC 9113 section 5); the server sends
//! them one after the other. On several connections each carries one object at a time, as with HTTP/1.1 (RFC
//! 9112 section 9.4). Connections after the first open when there are objects for them.

use std::collections::VecDeque;

use bentpipe_cc::Time;

use crate::link::random::Stream;
use crate::workload::laws::{Lengths, ObjectNumbers, Sizes};
use crate::workload::transfers::Transfer;

/// The pages that a browser loads.
#[derive(Clone, Debug, PartialEq)]
pub struct WebPlan {
    /// Payload bytes of main objects.
    pub main: Sizes,
    /// How many embedded objects a page has.
    pub objects: ObjectNumbers,
    /// Payload bytes of embedded objects.
    pub embedded: Sizes,
    /// From the last byte of the main object to the requests for embedded objects.
    pub parsing: Lengths,
    /// From the last byte of a page to the request for the next one.
    pub reading: Lengths,
    /// Most connections; at least one.
    pub connections: usize,
}

/// A browser that has begun.
#[derive(Debug)]
pub(crate) struct Browser {
    plan: WebPlan,
    /// Draw the sizes and numbers of objects, times of parsing, and times of reading.
    sizes: Stream,
    parsing: Stream,
    reading: Stream,
    /// Embedded objects of the page that have no request yet.
    waiting: VecDeque<u64>,
    /// Objects of the page that are not complete.
    missing: u64,
    /// Is the main object of the page among them?
    lacks_main: bool,
    /// The page that is wanted and not requested yet.
    wanted: Option<Transfer>,
    pages: Vec<Transfer>,
}

/// What a browser does when an object is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It asks for embedded objects from this time on.
    Embedded(Time),
    /// The connection of the object is free for another one.
    Another,
    /// The page is loaded; it asks for the next one on its first connection at this time.
    Page(Time),
}

impl Browser {
    /// The browser called `name`.
    pub(crate) fn new(plan: &WebPlan, seed: u64, name: &str) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("flow/{name}/{what}"));
        Self {
            plan: plan.clone(),
            sizes: stream("page"),
            parsing: stream("parsing"),
            reading: stream("reading"),
            waiting: VecDeque::new(),
            missing: 0,
            lacks_main: false,
            wanted: None,
            pages: Vec::new(),
        }
    }

    /// Its pages so far, each from the request for its main object until its last object was complete.
    pub(crate) fn pages(&self) -> &[Transfer] {
        &self.pages
    }

    /// The user will want a page at `at`. Returns the bytes of its main object.
    pub(crate) fn begin(&mut self, at: Time) -> u64 {
        let main = self.plan.main.draw(&mut self.sizes);
        let count = self.plan.objects.draw(&mut self.sizes);
        self.waiting = (0..count).map(|_| self.plan.embedded.draw(&mut self.sizes)).collect();
        (self.missing, self.lacks_main) = (1 + count, true);
        let bytes = main + self.waiting.iter().sum::<u64>();
        self.wanted = Some(Transfer { start: at, bytes, end: None });
        main
    }

    /// It has requested an object, and with it the page that it wanted.
    pub(crate) fn on_asked(&mut self) {
        self.pages.extend(self.wanted.take());
    }

    /// The bytes of the next embedded object that has no request yet.
    pub(crate) fn take(&mut self) -> Option<u64> {
        self.waiting.pop_front()
    }

    /// An object is complete at `now`.
    pub(crate) fn on_object(&mut self, now: Time) -> Next {
        self.missing = self.missing.saturating_sub(1);
        let was_main = std::mem::replace(&mut self.lacks_main, false);
        if self.missing > 0 {
            return if was_main {
                Next::Embedded(now + self.plan.parsing.draw(&mut self.parsing))
            } else {
                Next::Another
            };
        }
        if let Some(page) = self.pages.last_mut() {
            page.end = Some(now);
        }
        Next::Page(now + self.plan.reading.draw(&mut self.reading))
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_cc::Span;

    use super::*;

    /// Two embedded objects of 3 bytes: the main object at 1 s, parsing until 1.5 s, the others at 3 and
    /// 4 s, the next page at 14 s.
    #[test]
    fn a_page_is_its_main_object_and_then_all_others() {
        let seconds = |s: f64| Span((s * 1e9) as u64);
        let at = |s: f64| Time((s * 1e9) as u64);
        let plan = WebPlan {
            main: Sizes::Fixed(10),
            objects: ObjectNumbers::Fixed(2),
            embedded: Sizes::Fixed(3),
            parsing: Lengths::Fixed(seconds(0.5)),
            reading: Lengths::Fixed(seconds(10.0)),
            connections: 1,
        };
        let mut browser = Browser::new(&plan, 1, "web");
        assert_eq!((browser.begin(at(0.0)), browser.pages().len()), (10, 0));
        browser.on_asked();
        assert_eq!(browser.on_object(at(1.0)), Next::Embedded(at(1.5)));
        assert_eq!([browser.take(), browser.take(), browser.take()], [Some(3), Some(3), None]);
        browser.on_asked();
        assert_eq!(browser.on_object(at(3.0)), Next::Another);
        assert_eq!(browser.on_object(at(4.0)), Next::Page(at(14.0)));
        assert_eq!(browser.pages(), [Transfer { start: at(0.0), bytes: 16, end: Some(at(4.0)) }]);
    }
}
