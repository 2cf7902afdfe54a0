//! Which part of a flow of the scenario a flow of the plan is: one half of a relayed flow, the requests or
//! the responses of a dialogue, or both at once. Its name and its row follow from the part. `relations.rs`
//! says how the parts work together.

/// The halves of a flow with a relay, each a connection of its own (RFC 3135 section 2.4). Or the two
/// directions of a connection whose both ends write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Half {
    /// To the relay; for two directions, the one of the end that opens.
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

/// Which part of a flow it is. It is the whole flow if neither field is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionPart {
    /// The way within a dialogue.
    pub way: Option<Way>,
    /// The half of a relayed flow, of one way of a relayed dialogue, or of a connection whose both ends
    /// write.
    pub half: Option<Half>,
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
        Self { half: Some(half), way: None }
    }

    /// Is it the whole flow?
    pub fn is_whole(self) -> bool {
        self == Self::default()
    }

    /// How many flows make up the connection.
    pub fn count(self) -> usize {
        (1 + usize::from(self.way.is_some())) * self.halves()
    }

    /// Its number among these flows, from 0.
    pub fn number(self) -> usize {
        usize::from(self.way == Some(Way::Responses)) * self.halves()
            + usize::from(self.half == Some(Half::Second))
    }

    /// The part's name, which follows the flow's name: "second", "requests", "responses/first" and so on.
    /// Empty if it is the whole flow.
    pub fn name(self) -> String {
        let names: Vec<&str> =
            [self.way.map(Way::name), self.half.map(Half::name)].into_iter().flatten().collect();
        names.join("/")
    }

    /// The name of the flow that has a part called `name`.
    pub(crate) fn whole_name(self, name: &str) -> &str {
        let names = usize::from(self.way.is_some()) + usize::from(self.half.is_some());
        (0..names).fold(name, |name, _| name.rsplit_once('/').map_or(name, |(whole, _)| whole))
    }

    /// Does it bring the responses of a dialogue to the client?
    pub(crate) fn brings_responses(self) -> bool {
        self.way == Some(Way::Responses) && self.half != Some(Half::First)
    }

    /// "second" if its data is what the flow is for and another part has brought it; "first" for every other
    /// part.
    pub fn row(self) -> Option<&'static str> {
        let half = match (self.way, self.half) {
            (Some(Way::Requests), _) => Half::First,
            (Some(Way::Responses), half) => half.unwrap_or(Half::Second),
            (None, half) => half?,
        };
        Some(half.name())
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
            parts.extend(
                [Half::First, Half::Second].map(|half| ConnectionPart { way: Some(way), half: Some(half) }),
            );
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
        let responses = ConnectionPart { way: Some(Way::Responses), half: None };
        assert_eq!((responses.number(), responses.count()), (1, 2));
        assert_eq!(ConnectionPart::half(Half::Second).number(), 1);
        assert_eq!((ConnectionPart::default().count(), ConnectionPart::default().name()), (1, String::new()));
    }
}
