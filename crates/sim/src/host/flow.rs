//! The two ends of one flow inside the simulator.

use std::cell::Cell;
use std::sync::Arc;

use bentpipe_cc::{Controller, Span, Time};
use bentpipe_tcp::{AckSegment, Active, BareAck, Block, Control, Data, Options, Passive, Receiver, Sender};

use crate::host::books::{Books, Missing, WindowCheck};
use crate::host::carried::CarriedStore;
use crate::host::cbr::CbrSource;
use crate::host::control;
use crate::host::ends::{DuplexEnd, Ends, RelayEnd, SubflowEnd, WriterEnd};
use crate::link::packet::{ACK, CONTROL, CWR, ECE, Ecn, LOW, PROBE, Packet, RESENT, SACK};
use crate::link::random::Stream;
use crate::link::under_way::InFlight;
use crate::record::histogram::Histogram;
use crate::resolve::plan::{self, FlowPlan, ReadBy, Source};
use crate::workload::application::Application;
use crate::workload::client::Client;
use crate::workload::transfers::Transfer;
use bentpipe_tcp::unwrap;

/// Marks "no timer armed" and "not finished".
pub(crate) const NEVER: Time = Time::MAX;

/// A TCP connection. The fields that every segment and acknowledgement needs are adjacent. With thousands of
/// connections, most time goes into fetching their state by cache lines.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Tcp {
    pub(crate) sender: Sender,
    /// State that few connections need.
    pub(super) ends: Option<Box<Ends>>,
    /// When the last byte was acknowledged.
    pub(super) done_at: Time,
    pub(super) rtts: Histogram,
    pub(crate) receiver: Receiver,
    pub(super) bytes: Option<u64>,
    pub(crate) check: WindowCheck,
}

/// The traffic of a flow. The tag of the kind comes first, beside the fields that every packet reads, and
/// not inside the connection.
#[derive(Debug)]
#[repr(u8)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all flows are connections, and a box is a line more to fetch"
)]
pub(crate) enum Kind {
    Tcp(Tcp),
    Cbr(Box<CbrSource>),
}

/// A flow in the engine. Its first cache line holds the fields that every packet needs, and ends
/// where the connection begins.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct FlowState {
    /// First hop of data and of acknowledgements.
    pub(crate) data_route: u32,
    pub(crate) ack_route: u32,
    /// The instants of this flow's timers in the event queue, if it has any there.
    pub(crate) sender_armed: Time,
    pub(crate) receiver_armed: Time,
    /// Packets by kind, for the audit.
    pub(crate) data: Books,
    pub(crate) acks: Books,
    pub(crate) kind: Kind,
    pub(crate) start: Time,
    pub(crate) stop: Time,
    pub(crate) missing_data: Missing,
    pub(crate) missing_acks: Missing,
}

impl Tcp {
    /// Takes the receiving end of another part of the run.
    #[cold]
    fn take_receiver(&mut self, part: &mut Self) {
        core::mem::swap(&mut self.receiver, &mut part.receiver);
        if let (Some(ends), Some(part)) = (&mut self.ends, &mut part.ends)
            && let (Some((_, passive)), Some((_, part))) = (&mut ends.opening, &mut part.opening)
        {
            core::mem::swap(passive, part);
        }
    }

    /// Who writes what it carries.
    #[inline]
    pub(super) fn writer(&self) -> &WriterEnd {
        self.ends.as_ref().map_or(&WriterEnd::Source, |ends| &ends.writer)
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn writer_mut(&mut self) -> Option<&mut WriterEnd> {
        self.ends.as_mut().map(|ends| &mut ends.writer)
    }

    /// Who learns of what reaches the receiver.
    #[inline]
    pub(crate) fn reader(&self) -> &ReadBy {
        self.ends.as_ref().map_or(&ReadBy::Sink, |ends| &ends.reader)
    }

    /// A connection of `bytes` payload bytes that has not begun.
    pub(crate) fn new(
        options: &Arc<Options>,
        cc: Box<dyn Controller>,
        bytes: Option<u64>,
        (writer, reader): (WriterEnd, ReadBy),
    ) -> Self {
        let mut receiver = Receiver::new(options);
        let echo = cc.needs().echo;
        echo.iter().for_each(|_| receiver.take_no_short_cut());
        let opening = options.handshake.then(|| (Active::new(options), Passive::new(options)));
        let written = match &writer {
            WriterEnd::Source | WriterEnd::Duplex(_) => bytes,
            WriterEnd::Application(_) | WriterEnd::Relay(_) | WriterEnd::Subflow(_) => Some(0),
        };
        Self {
            ends: Ends::new(opening, (writer, reader), echo),
            sender: Sender::new(options.clone(), cc, written),
            receiver,
            bytes,
            rtts: Histogram::default(),
            done_at: NEVER,
            check: WindowCheck::default(),
        }
    }

    /// Payload bytes of the whole transfer, if it has an end.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Its samples of the round-trip time.
    pub(crate) fn rtts(&self) -> &Histogram {
        &self.rtts
    }

    /// Payload bytes handed to the application.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        let full = self.receiver.delivered() * u64::from(self.sender.options().mss);
        self.bytes.map_or(full, |b| b.min(full)) - self.short_of()
    }

    /// Payload bytes that the sender knows to be delivered.
    pub(crate) fn acked_bytes(&self) -> u64 {
        let full = self.sender.una() * u64::from(self.sender.options().mss);
        self.bytes.map_or(full, |bytes| bytes.min(full))
    }

    /// An acknowledgement arrived. True if [`Tcp::is_on_fast_path`].
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, now: Time, packet: &Packet, carried: &mut CarriedStore) -> bool {
        let bare = packet.handle == 0 && !packet.has(ECE | LOW);
        if !(bare && self.on_bare_ack(now, packet.seq)) {
            let upto = unwrap(packet.seq, self.sender.una());
            self.on_any_ack(now, upto, packet, carried);
        }
        if self.is_on_fast_path() {
            return true; // and not done
        }
        self.note_progress(now);
        false
    }

    /// [`Tcp::on_bare_ack`] for acknowledgements in a row, and what is then sent: see
    /// [`Sender::on_acks_fast`]. `out` receives each packet, at hop `hop`. Returns the number of
    /// acknowledgements taken and the instant of the last one.
    #[inline(always)]
    pub(crate) fn on_bare_acks(
        &mut self,
        acks: impl Iterator<Item = (Time, u32)>,
        armed: Time,
        (flow, hop): (u32, u32),
        mut out: impl FnMut(Time, &Packet),
    ) -> (usize, Time) {
        let any = self.data_packet(&Data::new(0, self.sender.flow().mss, 0), flow, hop);
        let (sender, rtts) = (&mut self.sender, &mut self.rtts);
        // Most samples equal the one before.
        let (mut sample, mut count) = (0, 0);
        let sampled = |rtt: Span| {
            if rtt.0 != sample && count > 0 {
                rtts.add_many(sample, std::mem::take(&mut count));
            }
            sample = rtt.0;
            count += 1;
        };
        let (taken, last) = sender.on_acks_fast(acks, armed, sampled, |now, seq| {
            out(now, &Packet { seq: seq as u32, ts: (now.0 / 1000) as u32, ..any });
        });
        if count > 0 {
            rtts.add_many(sample, count);
        }
        self.check.window(&self.sender);
        (taken, last)
    }

    /// An acknowledgement has arrived that may complete something.
    #[inline]
    pub(crate) fn note_progress(&mut self, now: Time) {
        if self.done_at == NEVER {
            if self.application().is_some() {
                self.tell_application(now);
            }
            if self.sender.is_done() {
                self.note_completion(now);
            }
        }
    }

    /// [`Tcp::on_ack`] while [`Tcp::is_on_fast_path`] holds, for an acknowledgement that carries nothing
    /// else. Returns false if nothing has happened and [`Tcp::on_ack`] must take it.
    #[inline(always)]
    pub(crate) fn on_bare_ack(&mut self, now: Time, number: u32) -> bool {
        let upto = unwrap(number, self.sender.una());
        let Some(rtt) = self.sender.on_ack_fast(now, upto) else { return false };
        self.rtts.add(rtt.0);
        self.check.window(&self.sender); // in flight is then set to what is outstanding
        true
    }

    /// Notes that everything is done, if it is.
    pub(super) fn note_completion(&mut self, now: Time) {
        if self.is_complete() {
            self.done_at = self.done_at.min(now);
            if self.may_close() {
                self.close();
            }
        }
    }

    /// The acknowledgement of an extra segment, which has low priority (docs/tcp.md). The window that it
    /// advertises is not used, because it may be older than the window of other acknowledgements.
    #[cold]
    fn on_extra_ack(&mut self, now: Time, upto: u64, packet: &Packet, carried: &mut CarriedStore) {
        let mut ack =
            AckSegment { ack: upto, tsecr: packet.ts, ece: packet.has(ECE), ..AckSegment::default() };
        carried.take(packet.handle, &mut ack.sack);
        self.sender.on_extra_ack(now, &ack);
        self.check.sender(&self.sender);
    }

    #[inline(never)]
    fn on_any_ack(&mut self, now: Time, upto: u64, packet: &Packet, carried: &mut CarriedStore) {
        self.check.ack(upto, self.sender.next());
        if packet.has(LOW) {
            return self.on_extra_ack(now, upto, packet, carried);
        }
        if self.sender.acks_carry_more() {
            return self.on_telling_ack(now, upto, packet, carried);
        }
        if let Some(option) = carried.option(packet.handle)
            && !packet.has(ECE)
            && let Some(seq) = self.sender.newly_sacked(upto, option)
        {
            carried.free(packet.handle);
            if let Some(rtt) = self.sender.on_ack_recovery_fast(now, seq) {
                self.rtts.add(rtt.0);
            }
            return self.check.sender(&self.sender);
        }
        let snack = self.snack(packet, carried);
        let mut ack =
            AckSegment { ack: upto, tsecr: packet.ts, ece: packet.has(ECE), ..AckSegment::default() };
        carried.take(packet.handle, &mut ack.sack);
        let rtt = match &snack {
            None => self.sender.on_ack(now, &ack),
            Some(snack) => self.sender.on_snack(now, &ack, snack),
        };
        if let Some(rtt) = rtt {
            self.rtts.add(rtt.0);
        }
        self.check.sender(&self.sender);
    }

    /// The application sends nothing more. Returns true if the sending end then has something to send.
    pub(crate) fn stop(&mut self, now: Time) -> bool {
        if self.stop_subflow() || self.stop_relay(now) {
            return true;
        }
        if !self.stop_application(now) {
            self.sender.stop();
        }
        if self.client().is_none_or(Client::has_begun) {
            self.note_completion(now);
        }
        self.ends.is_some()
    }

    #[cold]
    pub(super) fn close(&mut self) {
        if let Some((active, _)) = self.ends.as_mut().and_then(|ends| ends.opening.as_mut()) {
            self.sender.close(active);
            self.note_due();
        }
    }

    /// The flow starts.
    pub(crate) fn start(&mut self, now: Time) {
        match self.writer() {
            WriterEnd::Relay(_) => return self.begin(now), // and opens with the connection to the relay
            WriterEnd::Subflow(_) => return self.start_subflow(now),
            // The connection was to be opened later, or the request that it serves came first.
            WriterEnd::Application(of) if of.is_stopped() || of.has_begun() => return,
            WriterEnd::Application(_) | WriterEnd::Source | WriterEnd::Duplex(_) => {}
        }
        self.sender.start(now);
        let Some(ends) = &mut self.ends else { return };
        ends.open(now);
        if let WriterEnd::Application(application) = &mut ends.writer {
            application.start(now);
        }
        ends.note_due();
    }

    /// When [`Tcp::on_deadline`] must be called; [`NEVER`] if not at all.
    #[inline(always)]
    pub(crate) fn due(&self) -> Time {
        let sender = self.sender.due();
        match &self.ends {
            Some(ends) if ends.muted => ends.due,
            Some(ends) => ends.due.min(sender),
            None => sender,
        }
    }

    /// A timer of the sending end may be due.
    pub(crate) fn on_deadline(&mut self, now: Time) {
        if self.ends.as_ref().is_none_or(|ends| !ends.muted) {
            self.sender.on_deadline(now);
        }
        if self.ends.as_ref().is_some_and(|ends| ends.due <= now) {
            self.on_deadline_of_ends(now);
        }
    }

    #[cold]
    fn on_deadline_of_ends(&mut self, now: Time) {
        if let Some((active, _)) = self.ends.as_mut().and_then(|ends| ends.opening.as_mut()) {
            active.on_deadline(now);
        }
        self.run_application(now);
        self.note_due();
    }

    /// The control segment that the sending end has to send at `now`, at hop `hop`.
    #[inline]
    pub(crate) fn poll_end(&mut self, now: Time, flow: u32, hop: u32) -> Option<Packet> {
        let ends = self.ends.as_mut()?;
        let end = &mut ends.opening.as_mut()?.0;
        if end.is_quiet() {
            return None;
        }
        let control = end.poll(now)?;
        ends.note_due();
        Some(control::packet(control, self.sender.options(), flow, hop))
    }

    /// Is the sender on the fast path, with no control segment to send? Never, if
    /// others learn of its progress.
    #[inline]
    pub(crate) fn is_on_fast_path(&self) -> bool {
        let quiet = |ends: &Ends| ends.alone && ends.active().is_none_or(Active::is_quiet);
        self.sender.is_on_fast_path() && self.ends.as_deref().is_none_or(quiet)
    }

    /// The next packet of the sending end at `now`, at hop `hop`: a control segment or data.
    #[inline(always)]
    pub(crate) fn next_packet(
        &mut self,
        now: Time,
        flow: u32,
        hop: u32,
        carried: &mut CarriedStore,
    ) -> Option<Packet> {
        if let Some(control) = self.poll_end(now, flow, hop) {
            return Some(control);
        }
        let data = self.poll(now)?;
        Some(self.any_data_packet(&data, flow, hop, carried))
    }

    /// The next data segment at `now`, if the connection is open.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Data> {
        if self.ends.as_deref().is_some_and(Ends::is_closed) { None } else { self.sender.poll(now) }
    }

    /// A segment that opens or closes the connection arrived. Answers arrive at the sending end, other
    /// segments at the receiving end.
    #[cold]
    pub(crate) fn on_control(&mut self, now: Time, packet: &Packet) {
        let (Some(ends), Some(signal)) = (&mut self.ends, control::signal(packet)) else { return };
        let Some((active, passive)) = &mut ends.opening else { return };
        let segment = Control { signal, ts: packet.ts };
        if !packet.has(ACK) {
            return passive.on_segment(now, segment);
        }
        if let Some(opened) = active.on_segment(now, segment) {
            ends.handshake[1] = now;
            self.sender.on_opened(now, &opened);
            if let Some(rtt) = opened.rtt {
                self.rtts.add(rtt.0);
            }
        }
        ends.note_due();
    }

    /// When [`Tcp::on_receiver_deadline`] must be called.
    pub(crate) fn receiver_deadline(&self) -> Option<Time> {
        let opening = self.ends.as_ref().and_then(|ends| ends.opening.as_ref());
        earlier(self.receiver.deadline(), opening.and_then(|(_, passive)| passive.deadline()))
    }

    /// A timer of the receiving end may be due.
    pub(crate) fn on_receiver_deadline(&mut self, now: Time) -> Option<AckSegment> {
        if let Some((_, passive)) = self.ends.as_mut().and_then(|ends| ends.opening.as_mut()) {
            passive.on_deadline(now);
        }
        self.receiver.on_deadline(now)
    }

    /// The control segment that the receiving end has to send at `now`, at hop `hop`.
    pub(crate) fn answer(&mut self, now: Time, flow: u32, hop: u32) -> Option<Packet> {
        let segment = self.ends.as_mut()?.opening.as_mut()?.1.poll(now)?;
        Some(control::packet(segment, self.sender.options(), flow, hop))
    }

    /// A data segment arrived. Returns true if the receiver acknowledges it now; `packet` is then the
    /// acknowledgement, at hop `hop`.
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        packet: &mut Packet,
        hop: u32,
        carried: &mut CarriedStore,
    ) -> bool {
        if let Some(ends) = &mut self.ends {
            if let Some((_, passive)) = &mut ends.opening {
                passive.on_data(now);
            }
            if let WriterEnd::Duplex(_) = &ends.writer {
                self.on_duplex_data(now, packet);
                return false; // the acknowledgement rides, or is asked for
            }
        }
        if packet.seq == self.receiver.delivered() as u32
            && !packet.has(PROBE | LOW)
            && self.receiver.is_in_order()
        {
            let ack = self.receiver.on_next_in_order(now, packet.ts, packet.has(CWR), packet.is_marked());
            let Some(ack) = ack else { return false };
            *packet = self.bare_packet(ack, packet.flow, hop);
            return true;
        }
        self.on_any_data(now, packet, hop, carried)
    }

    /// [`Tcp::on_data`] for the first packets of a batch, as long as each is the next in order and nothing more.
    /// They become their acknowledgements, at hop `hop`. Returns how many.
    #[inline(always)]
    pub(crate) fn answer_row(&mut self, batch: &mut [InFlight], flow: u32, hop: u32) -> usize {
        if self.ends.is_some() {
            return 0;
        }
        let any = self.bare_packet(BareAck { ack: 0, tsecr: 0, ece: false }, flow, hop);
        let batch = Cell::from_mut(batch).as_slice_of_cells();
        let plain = batch.iter().map(Cell::get).take_while(|of| !of.packet.has(PROBE | LOW));
        let mut acks = batch.iter();
        self.receiver.on_row_in_order(plain.map(|of| (of.at, of.packet.seq, of.packet.ts)), |ack| {
            let Some(of) = acks.next() else { return };
            of.set(InFlight {
                at: of.get().at,
                packet: Packet { seq: ack.ack as u32, ts: ack.tsecr, ..any },
            });
        })
    }

    #[inline(never)]
    fn on_any_data(&mut self, now: Time, packet: &mut Packet, hop: u32, carried: &mut CarriedStore) -> bool {
        let seq = unwrap(packet.seq, self.receiver.delivered());
        if !packet.has(PROBE | LOW)
            && let Some(ack) = self.receiver.on_next_of_newest_run(seq, packet.has(CWR), packet.is_marked())
        {
            *packet = self.packet_with_sack(ack, self.receiver.sack_blocks(), packet.flow, hop, carried);
            return true;
        }
        if self.sender.has_headers() {
            self.read_header(now, seq, packet, carried);
        }
        let data = self.data_in(packet, seq);
        let Some(ack) = self.receiver.on_data(now, &data) else { return false };
        *packet = self.ack_packet(now, &ack, packet.flow, hop, carried);
        true
    }

    /// The data segment in a packet; `seq` is its sequence number without wrapping.
    #[inline(always)]
    pub(super) fn data_in(&self, packet: &Packet, seq: u64) -> Data {
        Data {
            seq,
            len: self.payload(packet), // of use for counters of marks alone
            tsval: packet.ts,
            retransmission: false,
            cwr: packet.has(CWR),
            probe: packet.has(PROBE),
            extra: packet.has(LOW),
            ce: packet.is_marked(),
            push: self.sender.is_pushed(seq), // a packet has no flag for it
        }
    }

    /// The data segment as a packet at hop `hop`.
    #[inline]
    pub(crate) fn data_packet(&self, data: &Data, flow: u32, hop: u32) -> Packet {
        let options = self.sender.options();
        let ecn = Ecn::of_data(options.ecn && !data.retransmission, options.ect1);
        let cwr = if data.cwr { CWR } else { 0 };
        let probe = if data.probe { PROBE } else { 0 };
        let resent = if data.retransmission { RESENT } else { 0 };
        let low = if data.extra { LOW } else { 0 };
        Packet {
            seq: data.seq as u32,
            flow,
            ts: data.tsval,
            handle: 0,
            hop,
            size: self.data_size(data.len),
            flags: ecn as u16 | cwr | probe | resent | low,
        }
    }

    /// The acknowledgement as a packet at hop `hop`.
    pub(crate) fn ack_packet(
        &mut self,
        now: Time,
        ack: &AckSegment,
        flow: u32,
        hop: u32,
        carried: &mut CarriedStore,
    ) -> Packet {
        let bare = BareAck { ack: ack.ack, tsecr: ack.tsecr, ece: ack.ece };
        let mut packet = if ack.sack.is_empty() {
            self.bare_packet(bare, flow, hop)
        } else {
            self.packet_with_sack(bare, ack.sack.blocks().iter().copied(), flow, hop, carried)
        };
        packet.flags |= if ack.extra { LOW } else { 0 };
        // Both ends have the same options: what the sender expects in an acknowledgement is
        // what the receiver reports.
        if self.sender.acks_carry_more() || self.sender.options().snack.is_some() {
            self.tell_more(now, ack, &mut packet, carried);
        }
        packet
    }

    /// Adds to an acknowledgement what it reports besides received segments: a window, holes,
    /// counters of marks, a header.
    #[inline(never)]
    fn tell_more(&mut self, now: Time, ack: &AckSegment, packet: &mut Packet, carried: &mut CarriedStore) {
        if let Some(window) = self.receiver.window() {
            carried.on(packet).window = segments(window);
        }
        if self.sender.options().snack.is_some() {
            self.tell_holes(packet, carried);
        }
        if let Some(counts) = self.receiver.mark_counts() {
            self.count_marks(packet, ack.sack.blocks().len() as u32, counts, carried);
        }
        if let Some(header) = self.ends.as_mut().and_then(|ends| ends.echo.as_mut()?.answer(now)) {
            carried.put_header(packet, header);
        }
        if let Some(grown @ 1..) = self.receiver.grown_window() {
            carried.on(packet).window = segments(grown);
        }
    }

    /// As [`Tcp::ack_packet`], for an acknowledgement with these SACK blocks, at least one.
    #[inline]
    fn packet_with_sack(
        &self,
        ack: BareAck,
        blocks: impl Iterator<Item = Block>,
        flow: u32,
        hop: u32,
        carried: &mut CarriedStore,
    ) -> Packet {
        let (handle, count) = carried.put(ack.ack, blocks);
        let bare = self.bare_packet(ack, flow, hop);
        Packet { handle, size: self.ack_size(count), flags: bare.flags | SACK, ..bare }
    }

    /// As [`Tcp::ack_packet`], for an acknowledgement without SACK blocks.
    #[inline]
    fn bare_packet(&self, ack: BareAck, flow: u32, hop: u32) -> Packet {
        let size = self.ack_size(0);
        let flags = ACK | if ack.ece { ECE } else { 0 };
        Packet { seq: ack.ack as u32, flow, ts: ack.tsecr, handle: 0, hop, size, flags }
    }
}

/// A window in segments, as an acknowledgement carries it.
fn segments(window: u64) -> u32 {
    u32::try_from(window).unwrap_or(u32::MAX)
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl FlowState {
    /// A flow of `plan` that starts at `start`.
    pub(crate) fn new(plan: &FlowPlan, seed: u64, start: Time, cc: Option<Box<dyn Controller>>) -> Self {
        let kind = match (&*plan.source, cc) {
            (Source::Tcp { options, bytes, application, .. }, Some(cc)) => {
                let writer = match (plan.writer(), application) {
                    (plan::WrittenBy::Source, None) => WriterEnd::Source,
                    (plan::WrittenBy::Source, Some(of)) => {
                        let names = (plan.application_name(), plan.source_name());
                        let relayed = matches!(plan.reader(), ReadBy::Relay { .. });
                        WriterEnd::Application(Box::new(Application::new(of, seed, names, relayed)))
                    }
                    (plan::WrittenBy::Relay { from }, _) => WriterEnd::Relay(RelayEnd::new(*from)),
                    (plan::WrittenBy::Duplex(duplex), _) => {
                        WriterEnd::Duplex(Box::new(DuplexEnd::new(*duplex)))
                    }
                    (plan::WrittenBy::Subflow(of), _) => {
                        WriterEnd::Subflow(Box::new(SubflowEnd::new(of, options.mss)))
                    }
                };
                Kind::Tcp(Tcp::new(options, cc, *bytes, (writer, plan.reader().clone())))
            }
            (Source::Cbr(of), _) => {
                let stream = |what: &str| Stream::new(seed, &format!("flow/{}/{what}", plan.name));
                Kind::Cbr(Box::new(CbrSource::new(of, start, stream)))
            }
            (Source::Tcp { .. }, None) => unreachable!("the engine builds a controller for every TCP flow"),
        };
        Self {
            kind,
            data_route: 0,
            ack_route: 0,
            start,
            stop: plan.stop,
            sender_armed: NEVER,
            receiver_armed: NEVER,
            data: Books::default(),
            acks: Books::default(),
            missing_data: Missing::default(),
            missing_acks: Missing::default(),
        }
    }

    /// Joins what two parts of a run have of this flow. `part_has`: whether its sender, and whether its receiver, is
    /// that of `part`.
    #[cold]
    #[inline(never)]
    pub(crate) fn join(&mut self, mut part: Self, part_has: [bool; 2]) {
        self.data.join(part.data);
        self.acks.join(part.acks);
        self.missing_data.join(part.missing_data);
        self.missing_acks.join(part.missing_acks);
        match (&mut self.kind, &mut part.kind) {
            (Kind::Cbr(of), Kind::Cbr(part)) => {
                let last_arrival = of.last_arrival.max(part.last_arrival);
                if part_has[0] {
                    core::mem::swap(of, part);
                }
                of.last_arrival = last_arrival;
            }
            (Kind::Tcp(of), Kind::Tcp(part)) => {
                if part_has[0] {
                    core::mem::swap(of, part);
                }
                if part_has[0] != part_has[1] {
                    of.take_receiver(part);
                }
            }
            (Kind::Cbr(_), Kind::Tcp(_)) | (Kind::Tcp(_), Kind::Cbr(_)) => {}
        }
    }

    /// The books of packets like `packet` that do not arrive; `None` for segments of handshake and
    /// teardown, which are not counted.
    pub(crate) fn missing(&mut self, packet: &Packet) -> Option<&mut Missing> {
        let missing = if packet.has(ACK) { &mut self.missing_acks } else { &mut self.missing_data };
        (!packet.has(CONTROL)).then_some(missing)
    }

    /// The transfers that its sending end has written, if it knows them.
    pub(crate) fn transfers(&self) -> Option<&[Transfer]> {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.transfers(),
            Kind::Cbr(cbr) => cbr.transfers(),
        }
    }

    /// Its connection, if it is one of TCP.
    #[inline]
    pub(crate) fn tcp(&self) -> Option<&Tcp> {
        match &self.kind {
            Kind::Tcp(tcp) => Some(tcp),
            Kind::Cbr(_) => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn tcp_mut(&mut self) -> Option<&mut Tcp> {
        match &mut self.kind {
            Kind::Tcp(tcp) => Some(tcp),
            Kind::Cbr(_) => None,
        }
    }

    /// Is its handshake still going on?
    pub(crate) fn is_connecting(&self) -> bool {
        self.tcp().is_some_and(|tcp| !tcp.is_open())
    }

    /// Does its receiver send anything?
    pub(crate) fn is_answered(&self) -> bool {
        match &self.kind {
            Kind::Tcp(_) => true,
            Kind::Cbr(cbr) => cbr.is_echoed,
        }
    }

    /// Does its receiver send nothing but answers to packets, each at the packet's arrival?
    pub(crate) fn answers_at_once(&self) -> bool {
        match &self.kind {
            Kind::Tcp(tcp) => {
                let at_once = tcp.sender.options().delayed_ack.is_none() && !tcp.sender.minds_windows();
                tcp.ends.is_none() && at_once
            }
            Kind::Cbr(_) => true,
        }
    }

    /// When the life of the flow ends in a run that ends at `end`. A connection ends when everything it has
    /// sent is acknowledged and it sends nothing more. A constant-rate source that stops learns of no
    /// arrival. Its life ends when its last packet arrives, so that the packets waiting at the stop do not
    /// seem to arrive in no time.
    pub(crate) fn life_ends(&self, end: Time) -> Time {
        end.min(match &self.kind {
            Kind::Tcp(tcp) => tcp.done_at,
            Kind::Cbr(_) if self.data.arrived + self.missing_data.dropped < self.data.sent => end,
            Kind::Cbr(cbr) => self.stop.max(cbr.last_arrival),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// A cache line has 64 bytes on the processors for which the laboratory is meant.
    #[test]
    fn a_flow_begins_with_a_line_that_ends_where_the_connection_begins() {
        // The tag is as long as the strictest alignment behind it.
        assert_eq!(offset_of!(FlowState, kind) + align_of::<Kind>(), 64);
        // The size is an odd number of cache lines: with a power of two, the same fields of all flows would
        // compete for few sets of the cache.
        assert_eq!(size_of::<FlowState>() / 64 % 2, 1);
        let (first, last) = (offset_of!(Tcp, ends), offset_of!(Tcp, receiver) + size_of::<Receiver>());
        assert!(last - first <= 192, "{first} to {last}");
    }
}
