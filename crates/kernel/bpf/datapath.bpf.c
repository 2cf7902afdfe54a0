/* The datapath: a congestion controller of the kernel without a policy of its own.
 *
 * It folds acknowledgements into reports for the agent (ring buffer) and applies the agent's orders (mapped array). What the
 * kernel leaves to an algorithm with cong_control, it does itself: proportional rate reduction and the pacing rate. A loss, an
 * ECN echo or a timeout is answered at once by the standing part of the last order. If the agent is silent for two round trips
 * or 50 ms, whichever is longer, the flow goes on as the kernel's reno until the agent speaks again.
 */
#include "reports.h"
#include "orders.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline void on_ack(struct sock *sk, __u32 ack, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct slot *s = slot_of(tp);
	__u64 now = bpf_ktime_get_ns();
	bool advanced = before((__u32)tp->inet_conn.icsk_ca_priv[KEPT_UNA], tp->snd_una);
	__u32 state = state_of(tp);

	tp->inet_conn.icsk_ca_priv[KEPT_UNA] = tp->snd_una;
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

	tp->inet_conn.icsk_ca_priv[KEPT_DELIVERED] = 0;
	tp->inet_conn.icsk_ca_priv[KEPT_UNDONE] = 0;
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
		bool undone = tp->inet_conn.icsk_ca_priv[KEPT_UNDONE];

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

	tp->inet_conn.icsk_ca_priv[KEPT_UNDONE] = 1;
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

	tp->inet_conn.icsk_ca_priv[KEPT_SLOT] = 0;
	tp->inet_conn.icsk_ca_priv[KEPT_DELIVERED] = 0;
	tp->inet_conn.icsk_ca_priv[KEPT_UNDONE] = 0;
	tp->inet_conn.icsk_ca_priv[KEPT_UNA] = tp->snd_una;
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
	tp->inet_conn.icsk_ca_priv[KEPT_SLOT] = (__u64)index + 1;
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
	tp->inet_conn.icsk_ca_priv[KEPT_SLOT] = 0;
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
