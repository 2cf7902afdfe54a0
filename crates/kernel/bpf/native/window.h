/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The host of the window algorithms, in fixed point: what `Windowed` of crates/cc does (slow start, gating, collapse at a
 * timeout, undo), with the same order of steps. An algorithm NAME is a `struct NAME` whose first member is
 * `struct fx_window`, and these functions, all inline and without side effects beyond the structure:
 *
 *   NAME_begin(s)                  state at the start; the window is set already
 *   NAME_observe(s, ack)           every ACK, also in recovery
 *   NAME_slow_start(s, ack, n)     W < T; returns what is left of n segments (Q32) when W reaches T
 *   NAME_avoid(s, ack, n)          W >= T
 *   NAME_cut(s, why)               the answer to congestion; changes nothing
 *   NAME_congestion(s, why)        congestion began; the window is still the one before
 *   NAME_undo(s)                   the last episode was spurious; the window is back already
 *   NAME_recovered(s, limited)     recovery is over
 *   NAME_idle(s)                   data again after a pause with nothing in flight
 *
 * FX_HOST(NAME) makes of them the functions that a datapath calls: NAME_init, NAME_grow, NAME_congest, NAME_collapse, NAME_restore.
 */
#ifndef BENTPIPE_WINDOW_H
#define BENTPIPE_WINDOW_H

#include "fixed.h"

/* Why the window is cut. */
enum fx_why { FX_ECN, FX_LOSS, FX_TIMEOUT };

/* The news of one acknowledgement. */
struct fx_ack {
	/* The present time, us. */
	u64 now;
	/* Segments newly delivered, and how many of them may make the window grow. */
	u32 acked, counted;
	/* RTT sample, us; 0 if there is none. */
	u32 rtt;
	/* The peer's receive window, bytes, and the size of a segment. */
	u64 rwnd;
	u32 mss;
	/* The ACK ends a round: it acknowledges the first segment sent after the round's start. */
	u8 round_end;
	/* Fast recovery, or repair after a timeout, is under way. */
	u8 recovery, loss;
	/* The window held the sender back, and no mark was echoed: it may grow. */
	u8 limited;
};

/* The window and what every algorithm reads of the path: 48 bytes. */
struct fx_window {
	/* Window W and slow-start threshold T, Q32 segments. */
	u64 w, t;
	/* Smallest and latest RTT, us; 0 before the first sample. */
	u32 rtt_min, rtt_last;
	/* Smoothed RTT, in eighths of a microsecond (the kernel's unit). */
	u32 srtt8;
	/* For the shell: the window and the threshold that the kernel was told, the end of the round, deliveries counted. */
	u32 told_w, told_t, mark, delivered;
	/* A timeout was reported and nothing delivered since (RFC 5681 section 3.1). */
	u8 collapsed;
	/* For the shell: phase of its own, see shell.h. */
	u8 phase;
	/* For the algorithm. */
	u8 flags, stage;
};

/* An answer to congestion: the window to go to and the new threshold, Q32 segments. */
struct fx_cut {
	u64 w, t;
};

/* The common case: go to `target`, but to one segment after a timeout. */
static __always_inline struct fx_cut fx_standard(u64 target, enum fx_why why)
{
	struct fx_cut cut = { why == FX_TIMEOUT ? FX_ONE : target, target };

	return cut;
}

/* One segment per acknowledged segment up to T; returns what is left of n. */
static __always_inline u64 fx_exponential(struct fx_window *win, u64 n)
{
	u64 used = fx_min(n, fx_less(win->t, win->w));

	win->w += used;
	return n - used;
}

/* One segment per round trip (RFC 5681 eq. 3). */
static __always_inline void fx_additive(struct fx_window *win, u64 n)
{
	win->w += fx_ratio(n, win->w);
}

/* Takes the RTT that an ACK brought and the smoothed RTT, before anything else is called for this ACK. */
static __always_inline void fx_measure(struct fx_window *win, u32 rtt, u32 srtt8)
{
	win->srtt8 = srtt8;
	if (!rtt)
		return;
	rtt = fx_min(rtt, FX_LONGEST_RTT);
	win->rtt_last = rtt;
	if (!win->rtt_min || rtt < win->rtt_min)
		win->rtt_min = rtt;
}

/* Keeps the window and the threshold in their ranges. */
static __always_inline void fx_settle(struct fx_window *win)
{
	win->w = fx_min(fx_max(win->w, FX_ONE), FX_LARGEST);
	win->t = fx_max(win->t, 2 * FX_ONE);
}

/* RTT samples and deliveries of a round. */
struct fx_round {
	/* Sum of the samples, us. */
	u64 sum;
	u32 count, acked;
};

/* The host's functions for algorithm NAME. */
#define FX_HOST(NAME)                                                                                                  \
	/* Begins with a window and a threshold in Q32 segments; the memory is zeroed. */                              \
	static __always_inline void NAME##_init(struct NAME *s, u64 w, u64 t)                                          \
	{                                                                                                              \
		s->win.w = w;                                                                                          \
		s->win.t = t;                                                                                          \
		fx_settle(&s->win);                                                                                    \
		NAME##_begin(s);                                                                                       \
	}                                                                                                              \
                                                                                                                       \
	/* Growth for an ACK that NAME_observe has seen. */                                                            \
	static __always_inline void NAME##_grow(struct NAME *s, const struct fx_ack *ack)                              \
	{                                                                                                              \
		u64 n = (u64)ack->counted << 32;                                                                       \
                                                                                                                       \
		if (!ack->acked)                                                                                       \
			return;                                                                                        \
		s->win.collapsed = 0;                                                                                  \
		if (ack->recovery || !ack->limited || !ack->counted)                                                   \
			return;                                                                                        \
		if (s->win.w < s->win.t)                                                                               \
			n = NAME##_slow_start(s, ack, n);                                                              \
		if (n && s->win.w >= s->win.t)                                                                         \
			NAME##_avoid(s, ack, n);                                                                       \
		fx_settle(&s->win);                                                                                    \
	}                                                                                                              \
                                                                                                                       \
	/* What congestion would lead to now. */                                                                       \
	static __always_inline struct fx_cut NAME##_would_cut(const struct NAME *s, enum fx_why why)                   \
	{                                                                                                              \
		struct fx_cut cut = { s->win.w, s->win.t };                                                            \
                                                                                                                       \
		if (!s->win.collapsed) {                                                                               \
			cut = NAME##_cut(s, why);                                                                      \
			cut.w = fx_max(cut.w, FX_ONE);                                                                 \
			cut.t = fx_max(cut.t, 2 * FX_ONE);                                                             \
		}                                                                                                      \
		return cut;                                                                                            \
	}                                                                                                              \
                                                                                                                       \
	/* Congestion began. */                                                                                        \
	static __always_inline void NAME##_congest(struct NAME *s, enum fx_why why)                                    \
	{                                                                                                              \
		struct fx_cut cut = NAME##_would_cut(s, why);                                                          \
                                                                                                                       \
		if (!s->win.collapsed)                                                                                 \
			NAME##_congestion(s, why);                                                                     \
		if (why == FX_TIMEOUT)                                                                                 \
			s->win.collapsed = 1;                                                                          \
		s->win.w = cut.w;                                                                                      \
		s->win.t = cut.t;                                                                                      \
		fx_settle(&s->win);                                                                                    \
	}                                                                                                              \
                                                                                                                       \
	/* A timeout. `reduced`: congestion has cut the window already in this window of data, and the threshold stands. */\
	static __always_inline void NAME##_collapse(struct NAME *s, u8 reduced)                                        \
	{                                                                                                              \
		u64 t = s->win.t;                                                                                      \
                                                                                                                       \
		NAME##_congest(s, FX_TIMEOUT);                                                                         \
		if (reduced && t != FX_INFINITE)                                                                       \
			s->win.t = t;                                                                                  \
	}                                                                                                              \
                                                                                                                       \
	/* The last episode was spurious; the window and the threshold before it were w and t. */                      \
	static __always_inline void NAME##_restore(struct NAME *s, u64 w, u64 t)                                       \
	{                                                                                                              \
		s->win.w = fx_max(s->win.w, w);                                                                        \
		s->win.t = fx_max(s->win.t, t);                                                                        \
		s->win.collapsed = 0;                                                                                  \
		fx_settle(&s->win);                                                                                    \
		NAME##_undo(s);                                                                                        \
		fx_settle(&s->win);                                                                                    \
	}

#endif
