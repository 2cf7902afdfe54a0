//! Which part of a flow of the scenario a flow of the plan is: one half of a relayed flow, the requests or
//! the responses of a dialogue, or both at once; or one direction of a connection whose both ends write. Its
//! name and its row follow from the part. `relations.rs` says how the parts work together.

/// The halves of a flow with a relay, each a connection of its own (RFC 3135 section 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Half {
    /// To the relay.
    First,
    /// From the relay on.
    Second,
}

/// The two ways of a dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Responses,
}

/// The two ends of a connection whose both ends write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    /// The end that opens the connection.
    Opens,
    /// The end that answers.
    Answers,
}

/// Which part of a flow it is. It is the whole flow if no field is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionPart {
    /// The way within a dialogue.
    pub way: Option<Way>,
    /// The half of a relayed flow, or of one way of a relayed dialogue.
    pub half: Option<Half>,
    /// The end that sends, of a connection whose both ends write.
    pub peer: Option<Peer>,
}

impl Half {
    /// "first" or "second".
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
        }
    }
}

impl Peer {
    /// "there" or "back".
    pub fn name(self) -> &'static str {
        match self {
            Self::Opens => "there",
            Self::Answers => "back",
        }
    }
}

impl Way {
    /// "requests" or "responses".
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Responses => "responses",
        }
    }
}

impl ConnectionPart {
    /// One half of a flow.
    pub fn half(half: Half) -> Self {
        Self { half: Some(half), ..Self::default() }
    }

    /// The direction of the data that this end sends.
    pub fn peer(peer: Peer) -> Self {
        Self { peer: Some(peer), ..Self::default() }
    }

    /// Is it the whole flow?
    pub fn is_whole(self) -> bool {
        self == Self::default()
    }

    /// How many flows make up the connection.
    pub fn count(self) -> usize {
        (1 + usize::from(self.way.is_some() || self.peer.is_some())) * self.halves()
    }

    /// Its number among these flows, from 0.
    pub fn number(self) -> usize {
        usize::from(self.way == Some(Way::Responses)) * self.halves()
            + usize::from(self.half == Some(Half::Second) || self.peer == Some(Peer::Answers))
    }

    /// The part's name, which follows the flow's name: "second", "requests", "responses/first" and so on.
    /// Empty if it is the whole flow.
    pub fn name(self) -> String {
        self.names().collect::<Vec<_>>().join("/")
    }

    /// The name of the flow that has a part called `name`.
    pub(crate) fn whole_name(self, name: &str) -> &str {
        self.names().fold(name, |name, _| name.rsplit_once('/').map_or(name, |(whole, _)| whole))
    }

    /// Does it bring the responses of a dialogue to the client?
    pub(crate) fn brings_responses(self) -> bool {
        self.way == Some(Way::Responses) && self.half != Some(Half::First)
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        [self.way.map(Way::name), self.half.map(Half::name), self.peer.map(Peer::name)].into_iter().flatten()
    }

    /// "second" if its data is what the flow is for and another part has brought it; "first" for every other
    /// part.
    pub fn row(self) -> Option<&'static str> {
        let second = self.brings_responses()
            || self.way.is_none() && self.half == Some(Half::Second)
            || self.peer == Some(Peer::Answers);
        (!self.is_whole()).then_some(if second { "second" } else { "first" })
    }

    /// Is one of its ends the server, if a relay has made it? In a bulk flow the server is where the data
    /// comes from.
    pub(crate) fn is_at_server(self) -> bool {
        let beside = if self.way == Some(Way::Requests) { Half::Second } else { Half::First };
        self.half.is_none_or(|half| half == beside)
    }

    /// Does the client acknowledge its data, if a relay has made it?
    pub(crate) fn reaches_client(self) -> bool {
        self.half.is_none_or(|half| half == Half::Second && self.way != Some(Way::Requests))
    }

    /// How many flows each of its ways has.
    pub(super) fn halves(self) -> usize {
        1 + usize::from(self.half.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four flows are consecutive: requests to the relay and on, responses to the relay and on.
    #[test]
    fn the_parts_of_a_connection_find_each_other() {
        let mut parts = Vec::new();
        for way in [Way::Requests, Way::Responses] {
            let of_half = |half| ConnectionPart { way: Some(way), ..ConnectionPart::half(half) };
            parts.extend([Half::First, Half::Second].map(of_half));
        }
        for (i, part) in parts.iter().enumerate() {
            assert_eq!((part.number(), part.count()), (i, 4));
        }
        assert_eq!(
            (&*parts[2].name(), parts[2].whole_name("a/b/responses/first")),
            ("responses/first", "a/b")
        );
        let which =
            |holds: fn(ConnectionPart) -> bool| (0..4).filter(|i| holds(parts[*i])).collect::<Vec<_>>();
        assert_eq!(which(|part| part.row() == Some("second")), [3]);
        assert_eq!(
            (which(ConnectionPart::is_at_server), which(ConnectionPart::reaches_client)),
            (vec![1, 2], vec![3])
        );
    }

    #[test]
    fn without_a_relay_each_way_is_one_flow() {
        let responses = ConnectionPart { way: Some(Way::Responses), ..ConnectionPart::default() };
        assert_eq!((responses.number(), responses.count()), (1, 2));
        assert_eq!(ConnectionPart::half(Half::Second).number(), 1);
        assert_eq!((ConnectionPart::default().count(), ConnectionPart::default().name()), (1, String::new()));
    }

    #[test]
    fn both_ends_of_a_connection_that_write_are_two_flows() {
        let peers = [Peer::Opens, Peer::Answers].map(ConnectionPart::peer);
        assert_eq!(peers.map(ConnectionPart::number), [0, 1]);
        assert_eq!(peers.map(ConnectionPart::count), [2, 2]);
        assert_eq!(peers.map(ConnectionPart::row), [Some("first"), Some("second")]);
        assert_eq!((&*peers[1].name(), peers[1].whole_name("a/b/back")), ("back", "a/b"));
    }
}
