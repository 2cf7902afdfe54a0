/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A-LIAD: M. Shin, M. Park, D. Oh, B. Kim, J. Lee: Adaptive Logarithmic Increase Congestion Control Algorithm for Satellite
 * Networks, KSII Transactions on Internet and Information Systems 8(8), 2014. The rules and decisions are those of
 * crates/cc/src/algorithms/a_liad.rs with its default parameters: eq. 5 per round trip, RTTmax of the epoch.
 *
 * Equations: (1), (2) hybrid slow start -> a_liad_slow_start; (3) max-probing and (5) logarithmic increase -> a_liad_avoid, by
 * a_liad_approach; (7) adaptive decrease -> a_liad_cut; (11) alpha of the RTT, by Rust's fit -> a_liad_share. Hoe's estimate of
 * the initial ssthresh is in hoe.h.
 *
 * What differs in fixed point: of alpha only 1 - 1/alpha is needed, which is 1 - exp(-f(SRTT)); the share has an error
 * below 2^-24. A round's growth then has an error below 2^-24 of the gap between the window and its target, and the next round
 * closes what is left. beta is the exact ratio of two RTTs, rounded down.
 * What differs in the kernel: a paced sender spoils Hoe's estimate as it does in Rust, so the connection must not be paced
 * (no fq with pacing). RTTmax leaves out fast recovery only, as in Rust.
 */
#ifndef BENTPIPE_A_LIAD_H
#define BENTPIPE_A_LIAD_H

#include "window.h"
#include "hoe.h"

/* Before congestion avoidance; max-probing; logarithmic increase. */
enum { A_LIAD_START, A_LIAD_PROBE, A_LIAD_LOG };
/* The last ACK closed a round; a round of slow start ended with an estimate; there is an epoch to give back. */
enum { A_LIAD_ENDED = 1, A_LIAD_RENEWED = 2, A_LIAD_UNDOABLE = 4 };

struct a_liad {
	struct fx_window win;
	struct hoe hoe;
	/* The ssthresh of max-probing, or Wmax; Q32 segments. */
	u64 level, level_before;
	/* 1 - 1/alpha, Q32. */
	u64 share, share_before;
	/* Growth of the round under way per segment acknowledged, Q32; 0 before it is known. */
	u64 per_segment;
	/* Largest RTT since the last congestion, us; 0 for none. */
	u32 rtt_max, rtt_max_before;
	u32 stage_before;
};

static __always_inline void a_liad_begin(struct a_liad *s)
{
	s->share = FX_HALF;
}

/* 1 - 1/alpha by eq. 11, alpha = exp(r (10.8606 + 0.6194 ln r - 0.165 r)) with r in seconds from 0.005 to 1. */
static __always_inline u64 a_liad_share(u32 srtt8)
{
	u32 eighths = fx_min(fx_max(srtt8, 8 * 5000), 8 * FX_SECOND);
	u64 r = ((u64)eighths << 32) / (8 * FX_SECOND);
	/* -ln r = (lg 8000000 - lg eighths) ln 2, with lg to base 2. */
	u64 minus_ln = fx_mul(fx_less(98490337051ULL, fx_log2(eighths)), 2977044472ULL);
	u64 inner = 46645921815ULL - fx_mul(2660302743ULL, minus_ln) - fx_mul(708669604ULL, r);

	/* 1/alpha = 2^-(r inner lg e) */
	return FX_ONE - fx_exp2_negative(fx_mul(fx_mul(r, inner), 6196328019ULL));
}

static __always_inline void a_liad_observe(struct a_liad *s, const struct fx_ack *ack)
{
	if (s->win.flags & A_LIAD_ENDED)
		s->per_segment = 0;
	s->win.flags &= ~A_LIAD_ENDED;
	if (ack->round_end)
		s->win.flags |= A_LIAD_ENDED;
	if (s->win.stage == A_LIAD_START && hoe_observe(&s->hoe, &s->win, ack))
		s->win.flags |= A_LIAD_RENEWED;
	if (!ack->recovery && ack->rtt)
		s->rtt_max = fx_max(s->rtt_max, ack->rtt);
}

/* Eq. 5: n segments on the way to `target`, of which a round trip closes `share`; at least one segment per round trip. */
static __always_inline void a_liad_approach(struct a_liad *s, u64 target, u64 share, u64 n)
{
	u64 w = s->win.w, grown;

	if (!s->per_segment)
		s->per_segment = fx_ratio(fx_max(fx_mul(share, fx_less(target, w)), FX_ONE), w);
	grown = w + fx_mul(n, s->per_segment);
	if (grown > target)
		grown = fx_min(grown, fx_max(target, w + fx_ratio(n, w)));
	s->win.w = grown;
}

static __always_inline void a_liad_begin_probe(struct a_liad *s)
{
	s->win.stage = A_LIAD_PROBE;
	s->level = s->win.t;
	s->per_segment = 0;
	s->win.t = fx_min(s->win.t, s->win.w);
}

static __always_inline u64 a_liad_slow_start(struct a_liad *s, const struct fx_ack *ack, u64 n)
{
	u64 used, half;

	if (s->win.stage != A_LIAD_START)
		return fx_exponential(&s->win, n);
	if (s->win.flags & A_LIAD_RENEWED) {
		s->win.flags &= ~A_LIAD_RENEWED;
		s->win.t = fx_max(hoe_window(&s->hoe, &s->win), 2 * FX_ONE);
	}
	half = s->win.t == FX_INFINITE ? FX_INFINITE : s->win.t / 2;
	used = fx_min(n, fx_less(half, s->win.w));
	s->win.w += used; /* eq. 2, first branch */
	if (n > used)
		a_liad_approach(s, s->win.t, FX_HALF, n - used); /* second branch */
	if (s->win.t != FX_INFINITE && s->win.w + FX_ONE >= s->win.t)
		a_liad_begin_probe(s);
	return 0;
}

static __always_inline void a_liad_avoid(struct a_liad *s, const struct fx_ack *ack, u64 n)
{
	u8 probes;
	u64 target, share;

	if (s->win.stage == A_LIAD_START)
		a_liad_begin_probe(s);
	probes = s->win.stage == A_LIAD_PROBE;
	/* Eq. 3, second branch: the RTT has reached 1.93 times its minimum. */
	if (probes && s->win.rtt_min && 100ULL * s->win.rtt_last >= 193ULL * s->win.rtt_min) {
		fx_additive(&s->win, n);
		return;
	}
	target = probes ? 2 * s->level : s->level; /* eq. 3, first branch, or eq. 5 */
	share = probes ? FX_HALF : s->share;
	a_liad_approach(s, target, share, n);
	if (!probes)
		s->level = fx_max(s->level, s->win.w);
}

/* Eq. 7: beta = 1 - RTTmin / RTTmax, at most 1/2. */
static __always_inline struct fx_cut a_liad_cut(const struct a_liad *s, enum fx_why why)
{
	u64 keep = s->win.w;

	if (!s->win.rtt_min)
		keep = s->win.w / 2;
	else if (s->rtt_max > s->win.rtt_min)
		keep = fx_max(fx_share(s->win.w, s->win.rtt_min, s->rtt_max), s->win.w / 2);
	return fx_standard(keep, why);
}

static __always_inline void a_liad_congestion(struct a_liad *s, enum fx_why why)
{
	s->stage_before = s->win.stage;
	s->level_before = s->level;
	s->share_before = s->share;
	s->rtt_max_before = s->rtt_max;
	s->win.flags |= A_LIAD_UNDOABLE;
	if (s->win.stage != A_LIAD_LOG || why != FX_TIMEOUT)
		s->level = s->win.w; /* Wmax */
	s->win.stage = A_LIAD_LOG;
	if (s->win.rtt_min)
		s->share = a_liad_share(s->win.srtt8);
	s->rtt_max = 0;
	s->per_segment = 0;
}

static __always_inline void a_liad_undo(struct a_liad *s)
{
	if (!(s->win.flags & A_LIAD_UNDOABLE))
		return;
	s->win.flags &= ~A_LIAD_UNDOABLE;
	s->win.stage = s->stage_before;
	s->level = s->level_before;
	s->share = s->share_before;
	s->rtt_max = fx_max(s->rtt_max, s->rtt_max_before);
	s->per_segment = 0;
}

static __always_inline void a_liad_recovered(struct a_liad *s, u8 limited)
{
}

static __always_inline void a_liad_idle(struct a_liad *s)
{
}

FX_HOST(a_liad)

#endif
