/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The shell that makes a congestion control module of the kernel out of an algorithm on window.h. It is of the cong_avoid kind:
 * proportional rate reduction and pacing are the kernel's own. A program NAME.bpf.c includes NAME.h, says where its state
 * lives (NAME_state), what it does with a new connection (NAME_on_new), and then SHELL(NAME, "bpn_NAME").
 *
 * Who calls what (net/ipv4/tcp_input.c): for each ACK pkts_acked, then ssthresh and set_state if congestion was found, then
 * cong_avoid outside fast recovery and the reduction for ECN, or cwnd_event(COMPLETE_CWR) when they end. Rust's host is told
 * of congestion before the ACK; here the ACK's own RTT and delivery come first.
 *  * ssthresh is asked before the kernel says why. It returns the window to go to after a loss, towards which the kernel's
 *    proportional rate reduction steers. The algorithm's threshold is written when the reduction is over. A timeout's
 *    threshold is written in set_state(Loss), which the kernel calls right after.
 *  * the kernel changes the window, too: after an idle time, and where the application sends less than it allows. What it has
 *    written replaces the algorithm's window and threshold before they are used next.
 *  * a round ends when the first segment sent after its start is acknowledged cumulatively; Rust's sender counts
 *    selective acknowledgements as well, so that rounds in recovery end later here.
 *  * the threshold that an undo restores is the kernel's (at least 3/4 of the window).
 */
#ifndef BENTPIPE_SHELL_H
#define BENTPIPE_SHELL_H

#include "kernel_tcp.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "window.h"

/* Events of cwnd_event. */
#define EVENT_COMPLETE_CWR 2

/* fx_window.phase: ssthresh has been asked, fast recovery is under way. */
enum { SHELL_ASKED = 1, SHELL_RECOVERY = 2 };

/* Members beside those of kernel_tcp.h; what follows three underscores is not part of a type's name for the loader. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct tcp_sock___clock {
	__u64 tcp_mstamp;
};
struct ack_sample {
	__s32 rtt_us;
};
#pragma clang attribute pop

static __always_inline struct tcp_sock *shell_tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline u8 shell_ca_state(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

/* Does the window, and nothing else, hold the sender back (tcp_is_cwnd_limited)? */
static __always_inline u8 shell_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* The kernel's threshold in Q32. */
static __always_inline u64 shell_threshold(u32 ssthresh)
{
	return ssthresh >= INFINITE_SSTHRESH ? FX_INFINITE : (u64)ssthresh << 32;
}

/* A threshold in Q32 as the kernel's. */
static __always_inline u32 shell_segments(u64 t)
{
	return t >= (u64)INFINITE_SSTHRESH << 32 ? INFINITE_SSTHRESH : t >> 32;
}

/* Takes over what the kernel has written since the algorithm last wrote. */
static __always_inline void shell_follow(struct fx_window *win, struct tcp_sock *tp)
{
	if (tp->snd_cwnd != win->told_w) {
		win->told_w = tp->snd_cwnd;
		win->w = fx_min(fx_max((u64)win->told_w << 32, FX_ONE), FX_LARGEST);
	}
	if (tp->snd_ssthresh != win->told_t) {
		win->told_t = tp->snd_ssthresh;
		win->t = fx_max(shell_threshold(win->told_t), 2 * FX_ONE);
	}
}

/* Writes the window and the threshold where they changed. */
static __always_inline void shell_tell(struct fx_window *win, struct tcp_sock *tp)
{
	u32 t = shell_segments(win->t);
	u32 most = tp->snd_cwnd_clamp;

	if (win->w >> 32 > most)
		win->w = fx_max((u64)most << 32, FX_ONE);
	win->told_w = win->w >> 32;
	if (tp->snd_cwnd != win->told_w)
		tp->snd_cwnd = win->told_w;
	if (tp->snd_ssthresh != t)
		tp->snd_ssthresh = t;
	win->told_t = t;
}

/* The whole of what an ACK says; `acked` segments, of which as many may make the window grow. */
static __always_inline struct fx_ack shell_ack(struct tcp_sock *tp, u32 acked)
{
	u8 state = shell_ca_state(tp);
	struct fx_ack ack = {
		.now = ((struct tcp_sock___clock *)tp)->tcp_mstamp,
		.acked = acked,
		.counted = acked,
		.rwnd = tp->snd_wnd,
		.mss = tp->mss_cache,
		.recovery = state == CA_RECOVERY,
		.loss = state == CA_LOSS,
	};

	return ack;
}

/* Without a state (no memory) there is no algorithm; the window then stays where congestion has brought it. */
#define SHELL(NAME, KERNEL_NAME)                                                                                       \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(NAME##_on_init, struct sock *sk)                                                                 \
	{                                                                                                              \
		struct tcp_sock *tp = shell_tcp(sk);                                                                   \
		struct NAME *s = NAME##_new_state(sk);                                                                 \
                                                                                                                       \
		if (!s)                                                                                                \
			return;                                                                                        \
		__builtin_memset(s, 0, sizeof(*s));                                                                    \
		s->win.told_w = tp->snd_cwnd;                                                                          \
		s->win.told_t = tp->snd_ssthresh;                                                                      \
		s->win.mark = tp->snd_nxt;                                                                             \
		s->win.delivered = tp->delivered;                                                                      \
		NAME##_init(s, (u64)s->win.told_w << 32, shell_threshold(s->win.told_t));                              \
		NAME##_on_new(sk);                                                                                     \
	}                                                                                                              \
                                                                                                                       \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(NAME##_on_pkts_acked, struct sock *sk, const struct ack_sample *sample)                          \
	{                                                                                                              \
		struct tcp_sock *tp = shell_tcp(sk);                                                                   \
		struct NAME *s = NAME##_state(sk);                                                                     \
		struct fx_ack ack;                                                                                     \
		s32 rtt = sample->rtt_us;                                                                              \
		u32 una = tp->snd_una;                                                                                 \
                                                                                                                       \
		if (!s)                                                                                                \
			return;                                                                                        \
		ack = shell_ack(tp, tp->delivered - s->win.delivered);                                                 \
		s->win.delivered = tp->delivered;                                                                      \
		ack.rtt = rtt > 0 ? fx_min(rtt, FX_LONGEST_RTT) : 0;                                                   \
		if ((s32)(una - s->win.mark) > 0) {                                                                    \
			s->win.mark = tp->snd_nxt;                                                                     \
			ack.round_end = 1;                                                                             \
		}                                                                                                      \
		fx_measure(&s->win, ack.rtt, tp->srtt_us);                                                             \
		NAME##_observe(s, &ack);                                                                               \
	}                                                                                                              \
                                                                                                                       \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(NAME##_on_cong_avoid, struct sock *sk, u32 number, u32 acked)                                    \
	{                                                                                                              \
		struct tcp_sock *tp = shell_tcp(sk);                                                                   \
		struct NAME *s = NAME##_state(sk);                                                                     \
		struct fx_ack ack;                                                                                     \
                                                                                                                       \
		if (!s)                                                                                                \
			return;                                                                                        \
		ack = shell_ack(tp, acked);                                                                            \
		ack.limited = shell_limited(tp);                                                                       \
		shell_follow(&s->win, tp);                                                                             \
		NAME##_grow(s, &ack);                                                                                  \
		shell_tell(&s->win, tp);                                                                               \
	}                                                                                                              \
                                                                                                                       \
	SEC("struct_ops")                                                                                              \
	u32 BPF_PROG(NAME##_on_ssthresh, struct sock *sk)                                                              \
	{                                                                                                              \
		struct tcp_sock *tp = shell_tcp(sk);                                                                   \
		struct NAME *s = NAME##_state(sk);                                                                     \
		u64 w;                                                                                                 \
                                                                                                                       \
		if (!s)                                                                                                \
			return fx_max(tp->snd_cwnd / 2, 2);                                                            \
		if (shell_ca_state(tp) <= CA_DISORDER)                                                                 \
			shell_follow(&s->win, tp);                                                                     \
		w = NAME##_would_cut(s, FX_LOSS).w;                                                                    \
		s->win.phase |= SHELL_ASKED;                                                                           \
		s->win.told_t = fx_max(w >> 32, 2);                                                                    \
		return s->win.told_t;                                                                                  \
	}                                                                                                              \
                                                                                                                       \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(NAME##_on_state, struct sock *sk, u8 state)                                                      \
	{                                                                                                              \
		struct tcp_sock *tp = shell_tcp(sk);                                                                   \
		struct NAME *s = NAME##_state(sk);                                                                     \
		u8 asked, before = shell_ca_state(tp);                                                                 \
                                                                                                                       \
		if (!s)                                                                                                \
			return;                                                                                        \
		asked = s->win.phase & SHELL_ASKED;                                                                    \
		if (state == CA_LOSS) {                                                                                \
			s->win.phase = 0;                                                                              \
			if (!asked && before <= CA_DISORDER)                                                           \
				return; /* segments became too large for the path: tcp_simple_retransmit */            \
			NAME##_collapse(s, !asked); /* the kernel asks unless the window is cut already: tcp_enter_loss */\
			s->win.told_w = s->win.w >> 32;                                                                \
			s->win.told_t = shell_segments(s->win.t);                                                      \
			tp->snd_ssthresh = s->win.told_t;                                                              \
		} else if (state == CA_RECOVERY) {                                                                     \
			s->win.phase = SHELL_RECOVERY;                                                                 \
			if (asked)                                                                                     \
				NAME##_congest(s, FX_LOSS);                                                            \
		} else if (state == CA_CWR) {                                                                          \
			s->win.phase = 0;                                                                              \
			if (asked)                                                                                     \
				NAME##_congest(s, FX_ECN);                                                             \
		}                                                                                                      \
	}                                                                                                              \
                                                                                                                       \
	SEC("struct_ops")                                                                                              \
	void BPF_PROG(NAME##_on_event, struct sock *sk, int event)                                                     \
	{                                                                                                              \
		struct tcp_sock *tp = shell_tcp(sk);                                                                   \
		struct NAME *s;                                                                                        \
                                                                                                                       \
		if (event != EVENT_TX_START && event != EVENT_COMPLETE_CWR)                                            \
			return;                                                                                        \
		s = NAME##_state(sk);                                                                                  \
		if (!s)                                                                                                \
			return;                                                                                        \
		if (event == EVENT_TX_START) {                                                                         \
			NAME##_idle(s);                                                                                \
			return;                                                                                        \
		}                                                                                                      \
		if (s->win.phase & SHELL_RECOVERY) {                                                                   \
			NAME##_recovered(s, shell_limited(tp));                                                        \
			fx_settle(&s->win);                                                                            \
		}                                                                                                      \
		s->win.phase = 0;                                                                                      \
		shell_tell(&s->win, tp);                                                                               \
	}                                                                                                              \
                                                                                                                       \
	SEC("struct_ops")                                                                                              \
	u32 BPF_PROG(NAME##_on_undo, struct sock *sk)                                                                  \
	{                                                                                                              \
		struct tcp_sock *tp = shell_tcp(sk);                                                                   \
		struct NAME *s = NAME##_state(sk);                                                                     \
                                                                                                                       \
		if (!s)                                                                                                \
			return fx_max(tp->snd_cwnd, tp->prior_cwnd);                                                   \
		NAME##_restore(s, (u64)fx_max(tp->snd_cwnd, tp->prior_cwnd) << 32, s->win.t);                          \
		s->win.phase = 0;                                                                                      \
		s->win.told_w = s->win.w >> 32;                                                                        \
		return s->win.told_w;                                                                                  \
	}                                                                                                              \
                                                                                                                       \
	/* Linux 6.12 and later take a link; 6.1 does not know links. The loader creates one of the two. */            \
	SEC(".struct_ops.link")                                                                                        \
	struct tcp_congestion_ops since_612 = SHELL_OPERATIONS(NAME, KERNEL_NAME);                                     \
                                                                                                                       \
	SEC(".struct_ops")                                                                                             \
	struct tcp_congestion_ops before_612 = SHELL_OPERATIONS(NAME, KERNEL_NAME);                                    \
                                                                                                                       \
	char LICENSE[] SEC("license") = "Dual MIT/GPL"

#define SHELL_OPERATIONS(NAME, KERNEL_NAME)                                                                            \
	{                                                                                                              \
		.init = (void *)NAME##_on_init, .pkts_acked = (void *)NAME##_on_pkts_acked,                            \
		.cong_avoid = (void *)NAME##_on_cong_avoid, .ssthresh = (void *)NAME##_on_ssthresh,                    \
		.set_state = (void *)NAME##_on_state, .cwnd_event = (void *)NAME##_on_event,                           \
		.undo_cwnd = (void *)NAME##_on_undo, .flags = CONG_NON_RESTRICTED, .name = KERNEL_NAME,                \
	}

/* The state of NAME in the 104 bytes that the kernel keeps in each socket for its algorithm. */
#define SHELL_STATE_IN_SOCKET(NAME)                                                                                    \
	_Static_assert(sizeof(struct NAME) <= 13 * sizeof(u64), "icsk_ca_priv holds 104 bytes");                       \
	static __always_inline struct NAME *NAME##_state(struct sock *sk)                                              \
	{                                                                                                              \
		return (struct NAME *)shell_tcp(sk)->inet_conn.icsk_ca_priv;                                           \
	}                                                                                                              \
	static __always_inline struct NAME *NAME##_new_state(struct sock *sk)                                          \
	{                                                                                                              \
		return NAME##_state(sk);                                                                               \
	}

/* The state of NAME in a map, for more than 104 bytes. It lives as long as the socket. */
#define SHELL_STATE_IN_MAP(NAME)                                                                                       \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                                 \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                  \
		__type(key, int);                                                                                      \
		__type(value, struct NAME);                                                                            \
	} NAME##_states SEC(".maps");                                                                                  \
	static __always_inline struct NAME *NAME##_state(struct sock *sk)                                              \
	{                                                                                                              \
		return bpf_sk_storage_get(&NAME##_states, sk, 0, 0);                                                   \
	}                                                                                                              \
	static __always_inline struct NAME *NAME##_new_state(struct sock *sk)                                          \
	{                                                                                                              \
		return bpf_sk_storage_get(&NAME##_states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);                         \
	}

/* Nothing more to do for a new connection. */
#define SHELL_NOTHING_ON_NEW(NAME)                                                                                     \
	static __always_inline void NAME##_on_new(struct sock *sk)                                                     \
	{                                                                                                              \
	}

#endif
