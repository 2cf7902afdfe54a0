/* What the datapath does with the agent's orders, and without them: windows, silence, proportional rate reduction, pacing. */
#ifndef BENTPIPE_ORDERS_H
#define BENTPIPE_ORDERS_H

#include "reports.h"

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
	if (!c.again && now > c.report_ns)
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

/* Proportional rate reduction towards `target` (RFC 9937 section 6, with the kernel's window before the cut as RecoverFS). */
static __always_inline void reduce(struct tcp_sock *tp, const struct rate_sample *rs, __u32 target, bool advanced)
{
	__u32 acked = rs->acked_sacked;
	__u32 pipe = packets_in_flight(tp);
	__u32 out = tp->prr_out;
	__u64 delivered = tp->inet_conn.icsk_ca_priv[KEPT_DELIVERED] + acked;
	__s64 count;

	if (!acked)
		return;
	tp->inet_conn.icsk_ca_priv[KEPT_DELIVERED] = delivered;
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

#endif
