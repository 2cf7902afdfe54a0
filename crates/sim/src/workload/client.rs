//! The client of a dialogue: what it requests, when, and what it does with the responses.

use std::sync::Arc;

use bentpipe_cc::{Span, Time};
use bentpipe_tcp::Sender;

use crate::link::random::Stream;
use crate::workload::browser::{Browser, WebPlan};
use crate::workload::laws::Lengths;
use crate::workload::player::{Playback, Player, VideoPlan};
use crate::workload::transfers::{Transfer, write};

/// Payload of a request of a browser or a player, bytes (3GPP2 C.R1002).
pub(super) const HTTP_REQUEST: u64 = 350;

/// The kind of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientPlan {
    /// It requests one response after the other. The server knows how large they are.
    Requests(Again),
    /// The first connection of a browser.
    Browser(Arc<WebPlan>),
    /// A further connection of a browser.
    Lane,
    /// A player of adaptive video.
    Player(Arc<VideoPlan>),
}

/// When a client asks again.
#[derive(Clone, Debug, PartialEq)]
pub enum Again {
    /// This long after the response is complete.
    After(Lengths),
    /// This long after its last request, or when the response is complete if that is later.
    Every(Span),
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// When it is made.
    pub(crate) at: Time,
    /// Payload bytes of the response; `None` if the server draws them.
    pub(crate) bytes: Option<u64>,
}

/// A client in a run.
#[derive(Debug)]
pub(crate) struct Client {
    /// Payload bytes of a request.
    request: u64,
    kind: ClientKind,
    /// All requests, in order. The first `asked` of them are made, and the first `answered` are answered.
    orders: Vec<Order>,
    asked: usize,
    answered: usize,
    /// True once its connection has begun.
    begun: bool,
    /// True if it makes no more requests.
    stopped: bool,
    /// When it next acts; [`Time::MAX`] if not of its own accord.
    due: Time,
}

#[derive(Debug)]
enum ClientKind {
    Requests { again: Again, pauses: Stream },
    Browser(Box<Browser>),
    Lane,
    Player(Box<Player>),
}

impl Client {
    /// A client whose requests have `request` bytes, before it begins. Its flow is called `flow`, and the
    /// source to which it belongs `source`.
    pub(crate) fn new(plan: &ClientPlan, request: u64, seed: u64, (flow, source): (&str, &str)) -> Self {
        let kind = match plan {
            ClientPlan::Requests(again) => ClientKind::Requests {
                again: again.clone(),
                pauses: Stream::new(seed, &format!("flow/{flow}/pause")),
            },
            ClientPlan::Browser(plan) => ClientKind::Browser(Box::new(Browser::new(plan, seed, source))),
            ClientPlan::Lane => ClientKind::Lane,
            ClientPlan::Player(plan) => ClientKind::Player(Box::new(Player::new(plan))),
        };
        let (orders, due) = (Vec::new(), Time::MAX);
        Self { request, kind, orders, asked: 0, answered: 0, begun: false, stopped: false, due }
    }

    pub(crate) fn due(&self) -> Time {
        self.due
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Has its connection begun?
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Payload bytes of a request.
    pub(crate) fn request(&self) -> u64 {
        self.request
    }

    /// The request with this number, counted from 0, if it has been made.
    pub(crate) fn order(&self, number: usize) -> Option<Order> {
        self.orders[..self.asked].get(number).copied()
    }

    /// The last request, if it waits for its response.
    pub(crate) fn open_request(&self) -> Option<Transfer> {
        let open = self.order(self.asked.checked_sub(1)?).filter(|_| self.asked > self.answered)?;
        Some(Transfer { start: open.at, bytes: 0, end: None })
    }

    /// Its browser, if it is the first connection of one.
    pub(crate) fn browser(&mut self) -> Option<&mut Browser> {
        match &mut self.kind {
            ClientKind::Browser(browser) => Some(browser),
            _ => None,
        }
    }

    /// The pages of its browser.
    pub(crate) fn pages(&self) -> Option<&[Transfer]> {
        match &self.kind {
            ClientKind::Browser(browser) => Some(browser.pages()),
            _ => None,
        }
    }

    /// How its video played until `end`.
    pub(crate) fn playback(&self, end: Time) -> Option<Playback> {
        match &self.kind {
            ClientKind::Player(player) => Some(player.playback(end)),
            _ => None,
        }
    }

    /// Is its connection one of a browser?
    pub(crate) fn browses(&self) -> bool {
        matches!(self.kind, ClientKind::Browser(_) | ClientKind::Lane)
    }

    /// Does its connection begin only when the browser has something to request?
    pub(crate) fn waits_for_browser(&self) -> bool {
        matches!(self.kind, ClientKind::Lane)
    }

    /// Its connection starts.
    pub(crate) fn start(&mut self, now: Time) {
        self.begun = true;
        let bytes = match &mut self.kind {
            ClientKind::Requests { .. } => None,
            ClientKind::Browser(browser) => Some(browser.begin(now)),
            ClientKind::Lane => return self.note_due(), // what it asks for comes from the browser
            ClientKind::Player(player) => Some(player.begin(now)),
        };
        self.ask(Order { at: now, bytes });
    }

    /// It has a request to make at the time of `order`.
    pub(crate) fn ask(&mut self, order: Order) {
        self.orders.push(order);
        self.note_due();
    }

    /// Makes the requests that are due at `now`.
    pub(crate) fn act(&mut self, now: Time, sender: &mut Sender) {
        while self.due <= now && self.begun {
            self.asked += 1;
            write(self.request, sender);
            if let ClientKind::Browser(browser) = &mut self.kind {
                browser.on_asked();
            }
            self.note_due();
        }
    }

    /// `count` responses are complete at `now`. Those of a browser's connection do not count here.
    pub(crate) fn on_responses(&mut self, now: Time, count: usize, sender: &mut Sender) {
        for _ in 0..count {
            self.answered += 1;
            let next = match &mut self.kind {
                ClientKind::Requests { again, pauses } => {
                    let asked_at = self.orders[self.asked - 1].at;
                    let at = match again {
                        Again::After(pause) if !self.stopped => now + pause.draw(pauses),
                        Again::After(_) => Time::MAX,
                        Again::Every(period) => now.max(asked_at + *period),
                    };
                    Some((at, None))
                }
                ClientKind::Player(player) => player.on_segment(now).map(|(at, bytes)| (at, Some(bytes))),
                ClientKind::Browser(_) | ClientKind::Lane => None,
            };
            if let Some((at, bytes)) = next {
                self.ask(Order { at, bytes });
            }
        }
        self.act(now, sender);
    }

    /// It makes no more requests from `now` on.
    pub(crate) fn stop(&mut self, now: Time) {
        self.stopped = true;
        self.note_due();
        if let ClientKind::Player(player) = &mut self.kind {
            player.leave(now);
        }
    }

    fn note_due(&mut self) {
        let next = self.orders.get(self.asked).filter(|_| !self.stopped);
        self.due = next.map_or(Time::MAX, |order| order.at);
    }
}
