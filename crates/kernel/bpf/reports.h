/* The datapath's maps, what it keeps of a flow, and what it tells the agent. */
#ifndef BENTPIPE_REPORTS_H
#define BENTPIPE_REPORTS_H

#include "kernel_tcp.h"
#include "layout.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

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
enum {
	/* Index of the slot plus one; 0 if there was none free. */
	KEPT_SLOT = 0,
	/* Delivered since the last congestion, for proportional rate reduction. */
	KEPT_DELIVERED = 1,
	/* Was the last congestion undone? */
	KEPT_UNDONE = 2,
	/* snd_una at the last ACK. */
	KEPT_UNA = 3,
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
	__u64 kept = tp->inet_conn.icsk_ca_priv[KEPT_SLOT];
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
	r->slot = (__u32)tp->inet_conn.icsk_ca_priv[KEPT_SLOT] - 1;
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

#endif
