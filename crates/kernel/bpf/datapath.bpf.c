/* The datapath: a congestion controller of the kernel without a policy of its own.
 *
 * It folds acknowledgements into reports for the agent (ring buffer) and applies the agent's orders (mapped array). What the
 * kernel leaves to an algorithm with cong_control, it does itself: proportional rate reduction and the pacing rate. A loss, an
 * ECN echo or a timeout is answered at once by the standing part of the last order. If the agent is silent for two round trips
 * or 50 ms, whichever is longer, the flow goes on as the kernel's reno until the agent speaks again.
 */
#include "kernel_tcp.h"
#include "layout.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define MOST_FLOWS 8192
#define SILENCE_NS 50000000ULL
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Both sizes may be changed by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MOST_FLOWS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} reports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

/* What a socket keeps in icsk_ca_priv. */
struct kept {
	/* Index of the slot plus one; 0 if there was none free. */
	__u64 slot;
	__u64 prr_delivered;
	__u64 undone;
	__u64 last_una;
};

static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline __u32 state_of(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

static __always_inline struct slot *slot_of(struct tcp_sock *tp)
{
	__u64 kept = tp->inet_conn.icsk_ca_priv[0];
	__u32 index = (__u32)kept - 1;

	return kept ? bpf_map_lookup_elem(&slots, &index) : 0;
}

static __always_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __always_inline __u32 packets_in_flight(struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

static __always_inline bool is_reducing(__u32 state)
{
	return state == CA_CWR || state == CA_RECOVERY;
}

/* Bytes to whole segments, one at least. */
static __always_inline __u32 segments(struct tcp_sock *tp, __u64 bytes)
{
	__u32 mss = tp->mss_cache;
	__u64 n = mss ? bytes / mss : 1;

	return n < 1 ? 1 : n < INFINITE_SSTHRESH ? n : INFINITE_SSTHRESH;
}

static __always_inline void set_cwnd(struct tcp_sock *tp, __u32 cwnd)
{
	__u32 most = tp->snd_cwnd_clamp;

	cwnd = MIN(cwnd, most);
	tp->snd_cwnd = cwnd ? cwnd : 1;
}

/* A flow is steered once an order has been applied, and while the agent answers. */
static __always_inline bool is_steered(struct slot *s)
{
	return s && s->ordered && !s->fallback;
}

/* Takes over the newest order, unless it is older than the last congestion. */
static __always_inline void take_order(struct slot *s, __u64 now)
{
	struct order *o = &s->order;
	struct order c;
	__u32 seq;

	if (o->id != s->id || o->number == s->applied)
		return;
	for (int i = 0; i < 3; i++) {
		/* An atomic operation is a barrier on every processor. */
		seq = __sync_fetch_and_add(&o->seq, 0);
		c = *o;
		if (!(seq & 1) && __sync_fetch_and_add(&o->seq, 0) == seq)
			goto whole;
	}
	return;
whole:
	if (c.id != s->id || c.answers < s->min_answer)
		return;
	s->want_cwnd = c.cwnd;
	s->want_ssthresh = c.ssthresh;
	s->want_rate = c.rate;
	s->pacing_kind = c.pacing;
	s->own_recovery = c.own_recovery;
	s->loss = c.loss;
	s->ecn = c.ecn;
	s->timeout = c.timeout;
	s->applied = c.number;
	s->applied_ns = now;
	s->orders++;
	if (c.report_ns && now > c.report_ns)
		s->applied_after_ns = now - c.report_ns;
	s->min_answer = 0;
	s->ordered = 1;
	s->fallback = 0;
}

/* Has a report stood unanswered for too long? Then the flow falls back until a later report is answered. */
static __always_inline void look_for_silence(struct slot *s, __u64 now)
{
	bool mine = s->order.id == s->id;
	__u64 answers = mine ? s->order.answers : 0;
	__u64 patience = 2000ULL * s->srtt_us;

	if (answers >= s->reports && !s->blocked) {
		s->since_ns = 0;
		return;
	}
	if (answers != s->seen_answers) {
		__u64 answered = mine ? s->order.report_ns : 0;

		s->seen_answers = answers;
		s->since_ns = MAX(s->since_ns, answered);
	}
	patience = MAX(patience, SILENCE_NS);
	if (!s->fallback && s->since_ns && now > s->since_ns && now - s->since_ns > patience) {
		s->fallback = 1;
		s->fallbacks++;
		s->min_answer = s->reports + 1;
	}
}

/* Tells the agent. If the ring is full, the news waits and joins that of the next report. */
static __always_inline void send(struct tcp_sock *tp, struct slot *s, __u32 state, __u64 now)
{
	struct report *r;

	if (!s->since_ns)
		s->since_ns = now;
	r = bpf_ringbuf_reserve(&reports, sizeof(*r), 0);
	if (!r) {
		s->dropped++;
		s->blocked = 1;
		return;
	}
	s->blocked = 0;
	s->reports++;
	r->id = s->id;
	r->number = s->reports;
	r->t_ns = now;
	r->slot = (__u32)tp->inet_conn.icsk_ca_priv[0] - 1;
	r->tells = s->tells;
	r->in_flight = (__u64)packets_in_flight(tp) * tp->mss_cache;
	r->delivered = s->delivered;
	r->lost = s->lost;
	r->rwnd = tp->snd_wnd;
	r->round = s->round;
	r->mss = tp->mss_cache;
	r->phase = is_reducing(state) ? PHASE_RECOVERY : state == CA_LOSS ? PHASE_LOSS : PHASE_OPEN;
	r->srtt_us = s->srtt_us;
	r->rttvar_us = s->rttvar_us;
	r->min_rtt_us = s->min_rtt_us;
	r->cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->cwnd_limited = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	if (!r->cwnd_limited && tp->snd_cwnd < tp->snd_ssthresh)
		/* tcp_is_cwnd_limited: in slow start, half a window suffices. */
		r->cwnd_limited = tp->snd_cwnd < 2 * tp->max_packets_out;
	r->applied_after_ns = s->applied_after_ns;
	r->news = s->news;
	bpf_ringbuf_submit(r, 0);
	s->tells = 0;
	s->applied_after_ns = 0;
	__builtin_memset(&s->news, 0, sizeof(s->news));
}

/* The state of the flow, for reports and for whoever looks at the slot. */
static __always_inline void look(struct sock *sk, struct tcp_sock *tp, struct slot *s)
{
	__u32 mss = tp->mss_cache;

	if (s->mss && s->mss != mss)
		s->tells |= TELLS_MSS;
	s->mss = mss;
	s->srtt_us = tp->srtt_us >> 3;
	s->rttvar_us = tp->rttvar_us >> 2;
	s->in_flight = packets_in_flight(tp);
	s->cwnd = tp->snd_cwnd;
	s->ssthresh = tp->snd_ssthresh;
	s->pacing = sk->sk_pacing_rate;
	s->state = state_of(tp);
}

/* Folds one acknowledgement into the news. */
static __always_inline void fold(struct tcp_sock *tp, struct slot *s, const struct rate_sample *rs)
{
	struct news *n = &s->news;
	__u64 mss = tp->mss_cache;
	__u64 acked = (tp->delivered - s->last_delivered) * mss;
	__u64 lost = (tp->lost - s->last_lost) * mss;
	long rtt = rs->rtt_us;
	long interval = rs->interval_us;

	n->acks++;
	n->acked += acked;
	if (!before(s->last_una, tp->snd_una))
		n->uncounted += acked;
	n->lost += lost;
	n->ce += (tp->delivered_ce - s->last_ce) * mss;
	s->delivered += acked;
	s->lost += lost;
	s->last_delivered = tp->delivered;
	s->last_lost = tp->lost;
	s->last_ce = tp->delivered_ce;
	s->last_una = tp->snd_una;

	if (rtt > 0) {
		__u32 us = rtt;

		n->rtt_min_us = n->rtt_count ? MIN(n->rtt_min_us, us) : us;
		n->rtt_max_us = MAX(n->rtt_max_us, us);
		n->rtt_latest_us = us;
		n->rtt_sum_us += us;
		n->rtt_count++;
		s->min_rtt_us = s->min_rtt_us ? MIN(s->min_rtt_us, us) : us;
	}
	if (rs->prior_mstamp && rs->delivered > 0 && !before(rs->prior_delivered, s->next_round)) {
		/* The first segment sent after the start of the round has arrived. */
		s->next_round = tp->delivered;
		s->round++;
		n->round_end = 1;
	}
	if (rs->delivered > 0 && interval > 0) {
		__u64 rate = (__u64)(__u32)rs->delivered * mss * 1000000 / (__u64)interval;
		__u64 prior = s->delivered - (__u64)(tp->delivered - rs->prior_delivered) * mss;
		bool limited = rs->is_app_limited;
		/* As Ack::merge: what the application did not limit wins, then the higher rate, then the later. */
		bool better = !n->rate_valid || (n->rate_app_limited && !limited) ||
			      (n->rate_app_limited == limited && rate >= n->rate);

		if (better) {
			n->rate_valid = 1;
			n->rate = rate;
			n->rate_app_limited = limited;
			n->rate_prior_delivered = prior;
			n->rate_prior_in_flight = (__u64)rs->prior_in_flight * mss;
		}
	}
	s->tells |= TELLS_ACK;
}

/* Proportional rate reduction towards `target` (RFC 9937 section 6, with the kernel's window before the cut as RecoverFS). */
static __always_inline void reduce(struct tcp_sock *tp, const struct rate_sample *rs, __u32 target, bool advanced)
{
	__u32 acked = rs->acked_sacked;
	__u32 pipe = packets_in_flight(tp);
	__u32 out = tp->prr_out;
	__u64 delivered = tp->inet_conn.icsk_ca_priv[1] + acked;
	__s64 count;

	if (!acked)
		return;
	tp->inet_conn.icsk_ca_priv[1] = delivered;
	if (pipe > target) {
		__u64 whole = MAX(tp->prior_cwnd, 1);

		count = (__s64)((delivered * target + whole - 1) / whole) - out;
	} else {
		count = MAX((__s64)delivered - out, (__s64)acked);
		if (advanced && rs->losses <= 0)
			count++;
		count = MIN(count, (__s64)(target - pipe));
	}
	if (!out && count < 1)
		count = 1; /* the fast retransmission */
	set_cwnd(tp, pipe + (count > 0 ? (__u32)count : 0));
}

/* As tcp_update_pacing_rate: 200 % of cwnd / srtt in early slow start, then 120 %. */
static __always_inline void pace(struct sock *sk, struct tcp_sock *tp, struct slot *s)
{
	__u32 kind = is_steered(s) ? s->pacing_kind : PACE_WINDOW;
	unsigned long most = sk->sk_max_pacing_rate;
	__u64 rate = ~0ULL;

	if (kind == PACE_RATE) {
		rate = s->want_rate;
	} else if (kind != PACE_OFF || sk->sk_pacing_status == PACING_NONE) {
		/* Without pacing the rate still decides how much the kernel sends in one piece. */
		__u32 cwnd = tp->snd_cwnd;
		__u32 window = MAX(cwnd, tp->packets_out);
		__u64 share = cwnd < tp->snd_ssthresh / 2 ? 200 : 120;

		if (!tp->srtt_us)
			return;
		rate = (__u64)tp->mss_cache * 80000 * share * window / tp->srtt_us;
	}
	if ((kind == PACE_RATE || kind == PACE_WINDOW_ALWAYS) && sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
	sk->sk_pacing_rate = MIN(rate, most);
}

static __always_inline void on_ack(struct sock *sk, __u32 ack, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct slot *s = slot_of(tp);
	__u64 now = bpf_ktime_get_ns();
	bool advanced = before((__u32)tp->inet_conn.icsk_ca_priv[3], tp->snd_una);
	__u32 state = state_of(tp);

	tp->inet_conn.icsk_ca_priv[3] = tp->snd_una;
	if (s) {
		take_order(s, now);
		look_for_silence(s, now);
		fold(tp, s, rs);
	}
	if (is_steered(s)) {
		__u32 want = segments(tp, s->want_cwnd);

		if (is_reducing(state) && !s->own_recovery)
			reduce(tp, rs, want, advanced);
		else
			set_cwnd(tp, want);
		tp->snd_ssthresh = segments(tp, s->want_ssthresh);
	} else if (is_reducing(state)) {
		reduce(tp, rs, tp->snd_ssthresh, advanced);
	} else if (advanced) {
		tcp_reno_cong_avoid(sk, ack, rs->acked_sacked);
	}
	pace(sk, tp, s);
	if (s) {
		look(sk, tp, s);
		send(tp, s, state, now);
	}
}

SEC("struct_ops")
void BPF_PROG(on_ack_since_612, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	on_ack(sk, ack, rs);
}

SEC("struct_ops")
void BPF_PROG(on_ack_before_612, struct sock *sk, const struct rate_sample *rs)
{
	on_ack(sk, tcp_of(sk)->snd_una, rs);
}

/* Congestion: the kernel asks for the new threshold. The cause is known only when set_state follows. */
SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct slot *s = slot_of(tp);
	__u64 now = bpf_ktime_get_ns();

	tp->inet_conn.icsk_ca_priv[1] = 0;
	tp->inet_conn.icsk_ca_priv[2] = 0;
	if (s) {
		take_order(s, now);
		look_for_silence(s, now);
		s->episode = 1;
		s->prior_ssthresh = s->want_ssthresh;
	}
	if (is_steered(s))
		return segments(tp, s->loss.ssthresh);
	return MAX(tp->snd_cwnd / 2, 2U);
}

/* The answer to congestion, at once and without the agent. */
static __always_inline void back_off(struct tcp_sock *tp, struct slot *s, __u32 tells)
{
	struct standing *answer = tells == TELLS_TIMEOUT ? &s->timeout : tells == TELLS_ECN ? &s->ecn : &s->loss;

	s->tells |= tells;
	if (!is_steered(s))
		return;
	if (!s->min_answer) {
		s->want_cwnd = answer->cwnd;
		s->want_ssthresh = answer->ssthresh;
	} else if (tells == TELLS_TIMEOUT) {
		/* The agent has not seen the last congestion yet: only the collapse of the window is new. */
		s->want_cwnd = MIN(s->want_cwnd, answer->cwnd);
	}
	s->min_answer = s->reports + 1;
	tp->snd_ssthresh = segments(tp, s->want_ssthresh);
	if (tells == TELLS_TIMEOUT)
		set_cwnd(tp, segments(tp, s->want_cwnd));
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct slot *s = slot_of(tp);
	__u32 old = state_of(tp);

	if (new_state <= CA_DISORDER && is_reducing(old)) {
		bool undone = tp->inet_conn.icsk_ca_priv[2];

		if (!undone && !is_steered(s) && tp->snd_ssthresh < INFINITE_SSTHRESH)
			tp->snd_cwnd = tp->snd_ssthresh; /* as tcp_end_cwnd_reduction */
		if (s && !undone)
			s->tells |= TELLS_RECOVERED;
	}
	if (!s)
		return;
	if (new_state == CA_LOSS) {
		__u64 now = bpf_ktime_get_ns();

		look_for_silence(s, now);
		back_off(tp, s, TELLS_TIMEOUT);
		look(sk, tp, s);
		s->state = new_state;
		send(tp, s, new_state, now);
	} else if (s->episode && is_reducing(new_state)) {
		back_off(tp, s, new_state == CA_CWR && s->ece ? TELLS_ECN : TELLS_LOSS);
	}
	if (new_state != old)
		s->episode = 0;
}

SEC("struct_ops")
void BPF_PROG(in_ack_event, struct sock *sk, __u32 flags)
{
	struct slot *s = slot_of(tcp_of(sk));

	if (s)
		s->ece = !!(flags & ACK_CARRIES_ECE);
}

SEC("struct_ops")
void BPF_PROG(cwnd_event, struct sock *sk, int event)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct slot *s = slot_of(tp);
	__u64 now;

	/* The first segment after a pause in which nothing was outstanding; not the first of the connection. */
	if (event != EVENT_TX_START || !s || tp->packets_out || !tp->data_segs_out)
		return;
	now = bpf_ktime_get_ns();
	take_order(s, now);
	look_for_silence(s, now);
	if (is_steered(s)) {
		set_cwnd(tp, segments(tp, s->want_cwnd));
		tp->snd_ssthresh = segments(tp, s->want_ssthresh);
	}
	s->tells |= TELLS_IDLE;
	look(sk, tp, s);
	send(tp, s, state_of(tp), now);
}

/* The last congestion proved spurious. */
SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct slot *s = slot_of(tp);
	__u32 cwnd = MAX(tp->snd_cwnd, tp->prior_cwnd);

	tp->inet_conn.icsk_ca_priv[2] = 1;
	if (s) {
		s->tells |= TELLS_UNDO;
		if (is_steered(s)) {
			__u64 before = (__u64)cwnd * tp->mss_cache;

			s->want_cwnd = MAX(s->want_cwnd, before);
			s->want_ssthresh = MAX(s->want_ssthresh, s->prior_ssthresh);
			s->min_answer = s->reports + 1;
		}
	}
	return cwnd;
}

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	__u32 zero = 0, index = 0;
	struct control *c = bpf_map_lookup_elem(&control, &zero);
	struct slot *s = 0;
	__u64 id, now = bpf_ktime_get_ns();

	tp->inet_conn.icsk_ca_priv[0] = 0;
	tp->inet_conn.icsk_ca_priv[1] = 0;
	tp->inet_conn.icsk_ca_priv[2] = 0;
	tp->inet_conn.icsk_ca_priv[3] = tp->snd_una;
	if (!c || !c->slots)
		return;
	id = __sync_fetch_and_add(&c->last_id, 1) + 1;
	for (int i = 0; i < 64; i++) {
		index = (id + i * 61) % c->slots;
		s = bpf_map_lookup_elem(&slots, &index);
		if (s && __sync_val_compare_and_swap(&s->id, 0, id) == 0)
			goto found;
	}
	__sync_fetch_and_add(&c->refused, 1);
	return;
found:
	/* All but the number and the order, which bears the number of its flow. */
	for (int i = 1; i < __builtin_offsetof(struct slot, order) / sizeof(__u64); i++)
		((volatile __u64 *)s)[i] = 0;
	tp->inet_conn.icsk_ca_priv[0] = (__u64)index + 1;
	s->cookie = sk->__sk_common.skc_cookie.counter;
	s->netns = sk->__sk_common.skc_net.net->ns.inum;
	s->family = sk->__sk_common.skc_family;
	s->local_port = sk->__sk_common.skc_num;
	s->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (s->family == AF_INET) {
		s->local[0] = sk->__sk_common.skc_rcv_saddr;
		s->remote[0] = sk->__sk_common.skc_daddr;
	} else {
		for (int i = 0; i < 4; i++) {
			s->local[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			s->remote[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
		}
	}
	s->opened_ns = now;
	s->last_delivered = tp->delivered;
	s->last_lost = tp->lost;
	s->last_ce = tp->delivered_ce;
	s->last_una = tp->snd_una;
	s->next_round = tp->delivered;
	s->tells = TELLS_OPEN;
	look(sk, tp, s);
	send(tp, s, state_of(tp), now);
}

SEC("struct_ops")
void BPF_PROG(release, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct slot *s = slot_of(tp);

	if (!s)
		return;
	s->tells |= TELLS_CLOSE;
	send(tp, s, state_of(tp), bpf_ktime_get_ns());
	__sync_lock_test_and_set(&s->id, 0);
	tp->inet_conn.icsk_ca_priv[0] = 0;
}

#define OPERATIONS                                                                                                             \
	.ssthresh = (void *)ssthresh, .set_state = (void *)set_state, .in_ack_event = (void *)in_ack_event,                    \
	.cwnd_event = (void *)cwnd_event, .undo_cwnd = (void *)undo_cwnd, .init = (void *)init, .release = (void *)release,    \
	.flags = CONG_NON_RESTRICTED, .name = "bp_datapath"

/* Linux 6.12 and later: cong_control has four parameters. 6.1: two, and no links. The loader creates one of the two. */
SEC(".struct_ops.link")
struct tcp_congestion_ops since_612 = { OPERATIONS, .cong_control = (void *)on_ack_since_612 };

SEC(".struct_ops")
struct tcp_congestion_ops before_612 = { OPERATIONS, .cong_control = (void *)on_ack_before_612 };
