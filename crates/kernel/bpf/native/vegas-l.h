/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TCP Vegas-L: L. Li, J. Zhu, N. He: TCP Vegas-L: An Adaptive End-to-End Congestion Control Algorithm over Satellite
 * Communications; on Vegas-A (K. N. Srijith, L. Jacob, A. L. Ananda, Computer Communications, 2005). The rules and decisions
 * are those of crates/cc/src/algorithms/vegas_l.rs with its default parameters: reading B of figure 2, gamma = 1.
 *
 * Equations: (1)-(3) Diff = W (1 - Base / RTT) -> vegas_l_diff; (5), (6) changes of throughput and figure 2 (six cases) ->
 * vegas_l_case; figure 1 of Vegas-A, whose line numbers are used here -> vegas_l_step. Slow start is Vegas's: growth every
 * other round.
 *
 * What differs in fixed point: steps and alpha are halves of a segment and exact. Diff has an error below W 2^-31 segments.
 * Th is Q32 segments per second, at most 2^31, with an error below 2^-32. Where two rounds' Th, or two changes of it, are equal
 * (as on a simulated path of constant RTT) they are equal here, while the rounding of floats decides in Rust; then, or with
 * Diff within its error of a threshold, the steps can differ. RTTs that vary by a microsecond leave no such ties.
 * What differs in the kernel: a round ends when the first segment sent after its start is acknowledged cumulatively. The RTT
 * sample of an ACK is one, whatever the ACK covers.
 */
#ifndef BENTPIPE_VEGAS_L_H
#define BENTPIPE_VEGAS_L_H

#include "window.h"

/* Flags of the round and of slow start. */
enum {
	/* The round under way touched recovery and is dropped. */
	VEGAS_L_BROKEN = 1,
	/* This ACK closed a round. */
	VEGAS_L_CLOSED = 2,
	/* Slow start grows in this round, and would in the next but one. */
	VEGAS_L_GROWING = 4,
	VEGAS_L_TURN = 8,
	/* Th of one round, of two, and a timeout that can be undone. */
	VEGAS_L_HAS_TH = 16,
	VEGAS_L_HAS_CHANGE = 32,
	VEGAS_L_UNDOABLE = 64,
};

struct vegas_l {
	struct fx_window win;
	struct fx_round round;
	/* Th of the last round, Q32 segments per second, and its change, eq. 5. */
	u64 th;
	s64 change;
	/* 1 - Base / RTT of the round that closed, Q32. */
	u32 queued;
	/* alpha in halves of a segment, and its value before the last timeout. */
	u32 alpha, alpha_before;
	/* The factor of the case of figure 2, in halves of a segment; 0 before there are three rounds. */
	u32 factor;
};

static __always_inline void vegas_l_begin(struct vegas_l *s)
{
	s->alpha = 2;
	s->win.flags = VEGAS_L_TURN;
}

/* Figure 2 without its sign, in halves: 2, 1 or 1/2. Changes that differ by no more than the rounding of Th are equal. */
static __always_inline u32 vegas_l_case(s64 now, s64 before)
{
	u8 more = now > before + 2;

	if ((now > 0) != (before > 0))
		return 1; /* cases 3 and 4 */
	if (now > 0)
		return more ? 4 : 2; /* cases 1 and 2 */
	return more ? 2 : 4; /* cases 5 and 6 */
}

/* Takes Th of a round. */
static __always_inline void vegas_l_throughput(struct vegas_l *s, u64 th)
{
	s64 now = (s64)(th - s->th);
	u8 known = s->win.flags;

	s->th = th;
	s->win.flags |= VEGAS_L_HAS_TH;
	if (!(known & VEGAS_L_HAS_TH))
		return;
	if (known & VEGAS_L_HAS_CHANGE)
		s->factor = vegas_l_case(now, s->change);
	s->change = now; /* eq. 5, and eq. 6 for the next round */
	s->win.flags |= VEGAS_L_HAS_CHANGE;
}

static __always_inline void vegas_l_forget_round(struct vegas_l *s)
{
	s->round.sum = 0;
	s->round.count = 0;
	s->round.acked = 0;
}

static __always_inline void vegas_l_observe(struct vegas_l *s, const struct fx_ack *ack)
{
	u64 based, th;

	s->win.flags &= ~VEGAS_L_CLOSED;
	if (ack->recovery) {
		vegas_l_forget_round(s);
		s->win.flags |= VEGAS_L_BROKEN;
		return;
	}
	if (ack->rtt) {
		s->round.sum += ack->rtt;
		s->round.count++;
	}
	s->round.acked += ack->acked;
	if (!ack->round_end)
		return;
	if (s->win.flags & VEGAS_L_BROKEN) {
		s->win.flags &= ~VEGAS_L_BROKEN;
		vegas_l_forget_round(s);
		return;
	}
	if (!s->round.count)
		return; /* the segments are carried over */
	based = (u64)s->win.rtt_min * s->round.count;
	s->queued = (u32)fx_div(fx_less(s->round.sum, based), s->round.sum);
	th = fx_div((u64)s->round.acked * s->round.count * FX_SECOND, s->round.sum);
	s->win.flags |= VEGAS_L_CLOSED;
	vegas_l_throughput(s, th);
	vegas_l_forget_round(s);
}

/* Eq. 1 to 3, Q32 segments. */
static __always_inline u64 vegas_l_diff(const struct vegas_l *s)
{
	return fx_mul(s->win.w, s->queued);
}

/* Slow start of ns-2's Vegas. */
static __always_inline u64 vegas_l_slow_start(struct vegas_l *s, const struct fx_ack *ack, u64 n)
{
	if (s->win.flags & VEGAS_L_CLOSED) {
		s->win.flags &= ~(VEGAS_L_CLOSED | VEGAS_L_GROWING);
		s->win.flags ^= VEGAS_L_TURN;
		if (s->win.flags & VEGAS_L_TURN) {
			if (vegas_l_diff(s) >= FX_ONE + FX_HALF) { /* rounded to nearest, above gamma */
				s->win.w = fx_max(s->win.w - s->win.w / 8, 2 * FX_ONE);
				s->win.t = 2 * FX_ONE;
				return 0;
			}
			s->win.flags |= VEGAS_L_GROWING;
		}
	}
	return s->win.flags & VEGAS_L_GROWING ? fx_exponential(&s->win, n) : 0;
}

/* A step down, in halves: two segments remain, and T follows. */
static __always_inline void vegas_l_down(struct vegas_l *s, u32 halves)
{
	s->win.w = fx_max(fx_less(s->win.w, halves * FX_HALF), 2 * FX_ONE);
	s->win.t = fx_min(s->win.t, s->win.w);
	s->alpha = s->alpha > halves + 2 ? s->alpha - halves : 2;
}

/* Figure 1, scaled by figure 2. */
static __always_inline void vegas_l_step(struct vegas_l *s, u64 diff)
{
	u64 alpha = s->alpha * FX_HALF;
	u32 m = s->factor ? s->factor : 2;
	u8 grew = s->change > 0;

	if (diff < alpha) {
		if (grew)
			s->win.w += m * FX_HALF; /* lines 10 and 15 */
		else if (s->alpha <= 2)
			s->win.w += FX_ONE; /* line 15 */
		else
			vegas_l_down(s, m); /* line 12 */
	} else if (diff <= alpha + 2 * FX_ONE) {
		if (grew) {
			s->win.w += m * FX_HALF; /* line 3 */
			s->alpha += m;
		} /* else line 5 */
	} else if (s->alpha > 2) {
		vegas_l_down(s, grew ? 2 : m); /* line 19 */
	} /* else line 21 */
}

static __always_inline void vegas_l_avoid(struct vegas_l *s, const struct fx_ack *ack, u64 n)
{
	if (!(s->win.flags & VEGAS_L_CLOSED))
		return;
	s->win.flags &= ~VEGAS_L_CLOSED;
	vegas_l_step(s, vegas_l_diff(s));
}

/* ns-2: 3/4 of the window stay; T = W / 2 after a timeout. */
static __always_inline struct fx_cut vegas_l_cut(const struct vegas_l *s, enum fx_why why)
{
	if (why == FX_TIMEOUT)
		return fx_standard(s->win.w / 2, why);
	return fx_standard(fx_max(s->win.w / 4 * 3, 2 * FX_ONE), why);
}

static __always_inline void vegas_l_congestion(struct vegas_l *s, enum fx_why why)
{
	s->win.flags &= ~VEGAS_L_UNDOABLE;
	if (why != FX_TIMEOUT)
		return;
	s->alpha_before = s->alpha;
	s->alpha = 2;
	s->win.flags &= ~VEGAS_L_GROWING;
	s->win.flags |= VEGAS_L_TURN | VEGAS_L_UNDOABLE;
}

static __always_inline void vegas_l_undo(struct vegas_l *s)
{
	if (s->win.flags & VEGAS_L_UNDOABLE)
		s->alpha = s->alpha_before;
	s->win.flags &= ~VEGAS_L_UNDOABLE;
}

static __always_inline void vegas_l_recovered(struct vegas_l *s, u8 limited)
{
}

static __always_inline void vegas_l_idle(struct vegas_l *s)
{
}

FX_HOST(vegas_l)

#endif
