//! A controller that writes down its calls and its answers.

use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::{Ack, Backoff, Congestion, Controller, Decision, Event, Flow, Needs};
use serde_json::{Value, json};

use crate::vectors::line::{self, Call, JsonFields};

/// Where a recorder writes; the simulator owns the controller.
pub(super) type Tape = Arc<Mutex<VectorText>>;

/// The lines so far.
#[derive(Debug, Default)]
pub(super) struct VectorText {
    pub(super) text: String,
    /// How many more may be written.
    pub(super) left: usize,
    flow: JsonFields,
    answer: JsonFields,
}

impl VectorText {
    fn write(&mut self, Call(call, given): Call, flow: &Flow, answer: &Decision, returns: Option<Value>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let flow = changes(&mut self.flow, line::flow(flow));
        let answer = changes(&mut self.answer, line::answer(answer));
        let given = if given.is_null() { String::new() } else { format!(",\"given\":{given}") };
        let returns = returns.map_or_else(String::new, |returns| format!(",\"returns\":{returns}"));
        self.text +=
            &format!("{{\"call\":\"{call}\"{given},\"flow\":{flow},\"answer\":{answer}{returns}}}\n");
    }
}

/// The values of `now` that differ from those of `before`, which become these.
fn changes(before: &mut JsonFields, now: JsonFields) -> Value {
    let different = |(name, value): &(&String, &Value)| before.get(*name) != Some(*value);
    let changed = now.iter().filter(different).map(|(name, value)| (name.clone(), value.clone())).collect();
    *before = now;
    Value::Object(changed)
}

/// A controller that is recorded.
#[derive(Debug)]
pub(super) struct RecordedController {
    inner: Box<dyn Controller>,
    tape: Tape,
}

impl RecordedController {
    /// Begins a sequence: its first line has `given` and the state of the flow at the start.
    pub(super) fn new(inner: Box<dyn Controller>, tape: Tape, given: Value, flow: &Flow) -> Self {
        let recorder = Self { inner, tape };
        {
            let mut tape = recorder.tape.lock().unwrap_or_else(PoisonError::into_inner);
            (tape.flow, tape.answer) = (JsonFields::new(), JsonFields::new());
        }
        recorder.write(Call("start", given), flow, None);
        recorder
    }

    fn write(&self, call: Call, flow: &Flow, returns: Option<Value>) {
        let decision = self.inner.decision();
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).write(call, flow, &decision, returns);
    }
}

impl Controller for RecordedController {
    fn on_ack(&mut self, flow: &Flow, ack: &Ack) {
        self.inner.on_ack(flow, ack);
        self.write(Call::ack(ack), flow, None);
    }

    fn on(&mut self, flow: &Flow, event: Event<'_>) {
        let call = Call::event(&event);
        let returns = match event {
            Event::Departure(header) => {
                self.inner.on(flow, Event::Departure(&mut *header));
                header.as_ref().map(line::header)
            }
            Event::Room(order) => {
                self.inner.on(flow, Event::Room(&mut *order));
                order.as_ref().map(line::extra)
            }
            Event::Congestion(why) => {
                let again = self.inner.backoff(flow, why).repeat;
                self.inner.on(flow, Event::Congestion(why));
                again.then(|| json!("repeat"))
            }
            other => {
                self.inner.on(flow, other);
                None
            }
        };
        self.write(call, flow, returns);
    }

    fn decision(&self) -> Decision {
        self.inner.decision()
    }

    fn backoff(&self, flow: &Flow, why: Congestion) -> Backoff {
        self.inner.backoff(flow, why)
    }

    fn needs(&self) -> Needs {
        self.inner.needs()
    }
}
