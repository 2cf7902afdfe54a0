/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TCP-STAR: H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki: TCP-STAR: TCP Congestion Control Method for Satellite Internet,
 * IEICE Transactions on Communications, 2006. The rules and decisions are those of crates/cc/src/algorithms/star.rs with
 * bw_samples = "ticks".
 *
 * Equations: (2) bandwidth sample and (3) its smoothing -> star_sample; (4) LWC, the window is Reno's plus the estimate's ->
 * star_lwc; (5) and figure 1, CWS -> star_cut. The first branch of figure 1 keeps W; the second goes to the estimate.
 *
 * What differs in fixed point: BW and its samples are Q24 segments per second, at most 2^27; time is in microseconds, and
 * what is delivered within one microsecond is one sample. Eq. 3 is (18 BW + s_k + s_(k-1)) / 20, rounded down: BW is at most
 * 10 * 2^-24 segments per second too small. The minimal RTT enters as Q40 seconds. Error of the window: below 2^-16 segments
 * for W < 2^20.
 * What differs in the kernel: no AEN (the module is told of a timeout after the window has collapsed), so a timeout is case
 * (I); F-RTO and undo take its place. Network cards, the receive offload and the scheduler deliver ACKs in bursts, microseconds
 * apart, whose samples (eq. 2) are hundreds of times the path's rate, and eq. 3 takes each of them for a twentieth. So bw_samples is
 * "ticks" here: time is counted in ticks of between 1/32 and 1/16 of RTTmin (star_instant), and what comes within a tick is one sample.
 */
#ifndef BENTPIPE_STAR_H
#define BENTPIPE_STAR_H

#include "window.h"

/* BW sample at most, Q24 segments per second: times the longest RTT in Q40 it must stay below 2^96. */
#define STAR_LARGEST_SAMPLE (1ULL << 51)
/* Segments in one sample at most: their number times 10^6 in Q24 must fit into 64 bits. */
#define STAR_LARGEST_BURST (1U << 19)

enum { STAR_HALVE = 1, STAR_UNDOABLE = 2 };

struct star {
	struct fx_window win;
	/* W_reno, Q32 segments, and its value when the last episode began. */
	u64 reno, reno_before;
	/* BW and s_(k-1), Q24 segments per second. */
	u64 bw, last;
	/* Time of the last ACK, us; 0 if the next one only starts the clock. */
	u64 at;
	/* Segments delivered since, not yet sampled. */
	u32 pending;
};

static __always_inline void star_begin(struct star *s)
{
	s->reno = s->win.w;
}

/* BW * RTTmin, Q32 segments. */
static __always_inline u64 star_estimate(const struct star *s)
{
	return fx_mul(s->bw, fx_seconds_q40(s->win.rtt_min));
}

/* The time for a sample: in ticks of a power of two, us. */
static __always_inline u64 star_instant(const struct star *s, u64 now)
{
	u32 bits = fx_top_bit(s->win.rtt_min | 16) - 4;

	return now >> bits << bits;
}

/* Eq. 2 and 3. */
static __always_inline void star_sample(struct star *s, u32 segments, u64 now)
{
	u64 at = s->at, sample;

	s->at = now;
	if (!at)
		return;
	s->pending = fx_min(s->pending + segments, STAR_LARGEST_BURST);
	if (now <= at)
		return;
	sample = fx_min((s->pending * FX_SECOND << 24) / (now - at), STAR_LARGEST_SAMPLE); /* eq. 2 */
	s->bw = (18 * s->bw + sample + s->last) / 20; /* eq. 3 */
	s->last = sample;
	s->pending = 0;
}

static __always_inline void star_observe(struct star *s, const struct fx_ack *ack)
{
	if (ack->acked)
		star_sample(s, ack->acked, star_instant(s, ack->now));
}

/* LWC: figure 3 and eq. 4. */
static __always_inline void star_lwc(struct star *s, u64 n)
{
	u64 used = fx_min(n, fx_less(s->win.t, s->reno));

	s->reno += used;
	if (n > used)
		s->reno += fx_ratio(n - used, s->reno);
	s->reno = fx_min(s->reno, FX_LARGEST);
	s->win.w = s->reno + star_estimate(s);
}

static __always_inline u64 star_slow_start(struct star *s, const struct fx_ack *ack, u64 n)
{
	star_lwc(s, n);
	return 0;
}

static __always_inline void star_avoid(struct star *s, const struct fx_ack *ack, u64 n)
{
	star_lwc(s, n);
}

/* CWS. */
static __always_inline struct fx_cut star_cut(const struct star *s, enum fx_why why)
{
	struct fx_cut cut = fx_standard(fx_max(star_estimate(s), 2 * FX_ONE), why); /* eq. 5; figure 1, second branch */

	if (why != FX_TIMEOUT && s->win.w < s->win.t)
		cut.w = s->win.w; /* first branch */
	return cut;
}

static __always_inline void star_congestion(struct star *s, enum fx_why why)
{
	s->reno_before = s->reno;
	s->win.flags = STAR_UNDOABLE | (why == FX_LOSS ? STAR_HALVE : 0);
	if (why == FX_TIMEOUT)
		s->reno = FX_ONE;
	else if (why == FX_ECN)
		s->reno = fx_max(s->reno / 2, FX_ONE);
}

static __always_inline void star_undo(struct star *s)
{
	if (s->win.flags & STAR_UNDOABLE)
		s->reno = fx_max(s->reno, s->reno_before);
	s->win.flags = 0;
}

static __always_inline void star_recovered(struct star *s, u8 limited)
{
	u64 lifted;

	if (!(s->win.flags & STAR_HALVE))
		return;
	s->win.flags &= ~STAR_HALVE;
	s->reno = fx_max(s->reno / 2, FX_ONE);
	lifted = s->reno + star_estimate(s);
	s->win.w = limited ? lifted : fx_min(lifted, s->win.w);
}

static __always_inline void star_idle(struct star *s)
{
	s->at = 0;
	s->pending = 0;
}

FX_HOST(star)

#endif
