/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HSWA-TCP: X. Ge, F. Y. Li, F. Reichert: An Enhanced TCP Congestion Avoidance Scheme and its Performance Evaluation in High
 * Speed Satellite Networks. The rules and decisions are those of crates/cc/src/algorithms/hswa.rs with its default parameters.
 *
 * Equations: (2) BaseTD = min(TD_(i-9) .. TD_i) -> hswa_base; (3) TD_i = AvgRTT_i - minRTT_(i-1) / 2 and (4) the increment per
 * round -> hswa_close, hswa_avoid; (5) S = -A lg(p_ber) is a constant: 80 segments for the default p_ber = 1e-8 and A = 10.
 *
 * What differs in fixed point: TD is Q16 microseconds. The increment has an error below 2^-16 segments per round, its growth
 * per segment one below 2^-31, so a round's growth one of 2^-31 W.
 * What differs in the kernel: p_ber is fixed, since nothing tells a module the channel's. cwnd_lim is the peer's window
 * (snd_wnd), in segments of mss_cache. The initial window is the kernel's.
 */
#ifndef BENTPIPE_HSWA_H
#define BENTPIPE_HSWA_H

#include "window.h"

/* Rounds that BaseTD looks back (eq. 3). */
#define HSWA_HISTORY 10
/* S of eq. 5, Q32 segments per round. */
#define HSWA_S (80 * FX_ONE)

/* An increment for the next round waits; the window at the start of the round under way is known. */
enum { HSWA_NEXT = 1, HSWA_BEGUN = 2 };

struct hswa {
	struct fx_window win;
	struct fx_round round;
	/* TD of the last rounds, Q16 us. */
	u64 td[HSWA_HISTORY];
	/* The increment for the round under way and for the next one, Q32 segments; the first per segment acknowledged. */
	u64 increment, next, per_segment;
	/* Smallest RTT of the round under way, and of the last round, us; 0 for none. */
	u32 round_min, last_min;
	/* Where the next TD goes. */
	u32 slot;
};

static __always_inline void hswa_forget(struct hswa *s)
{
	for (u32 i = 0; i < HSWA_HISTORY; i++)
		s->td[i] = ~0ULL;
}

static __always_inline void hswa_begin(struct hswa *s)
{
	s->increment = HSWA_S;
	hswa_forget(s);
}

/* Eq. 2. */
static __always_inline u64 hswa_base(const struct hswa *s)
{
	u64 base = s->td[0];

	for (u32 i = 1; i < HSWA_HISTORY; i++)
		base = fx_min(base, s->td[i]);
	return base;
}

/* Eq. 2 to 4 at the end of a round: the increment for the next one. */
static __always_inline u64 hswa_close(struct hswa *s)
{
	u64 mean = (s->round.sum << 16) / s->round.count;
	u64 unit = (u64)(s->last_min ? s->last_min : s->round_min) << 15;
	u64 td = fx_less(mean, unit), base; /* eq. 3 */

	s->last_min = s->round_min;
	if (!td) {
		hswa_forget(s);
		td = mean - ((u64)s->round_min << 15);
	}
	if (s->slot >= HSWA_HISTORY)
		s->slot = 0;
	s->td[s->slot] = td;
	s->slot++;
	base = hswa_base(s);
	/* The first branch of eq. 4 is the limit of the second one. */
	return fx_mul(HSWA_S, fx_div(fx_less(2 * base, td), base));
}

static __always_inline void hswa_observe(struct hswa *s, const struct fx_ack *ack)
{
	if (s->win.flags & HSWA_NEXT) {
		s->increment = s->next;
		s->win.flags = 0;
	}
	if (ack->rtt) {
		s->round.sum += ack->rtt;
		s->round.count++;
		if (!s->round_min || ack->rtt < s->round_min)
			s->round_min = ack->rtt;
	}
	if (!ack->round_end || !s->round.count)
		return;
	s->next = hswa_close(s);
	s->win.flags |= HSWA_NEXT;
	s->round.sum = 0;
	s->round.count = 0;
	s->round_min = 0;
}

static __always_inline u64 hswa_slow_start(struct hswa *s, const struct fx_ack *ack, u64 n)
{
	return fx_exponential(&s->win, n);
}

static __always_inline void hswa_avoid(struct hswa *s, const struct fx_ack *ack, u64 n)
{
	u64 grown;

	if (!(s->win.flags & HSWA_BEGUN)) {
		s->win.flags |= HSWA_BEGUN;
		s->per_segment = fx_ratio(s->increment, s->win.w);
	}
	grown = s->win.w + fx_mul(n, s->per_segment); /* eq. 4 */
	/* cwnd_lim: at most the peer's window, in bytes in Q16 on both sides. */
	if ((grown >> 16) * ack->mss > fx_min(ack->rwnd, 1ULL << 46) << 16)
		grown = fx_max(s->win.w, ack->mss ? fx_div(fx_min(ack->rwnd, 1ULL << 46), ack->mss) : 0);
	s->win.w = grown;
}

static __always_inline struct fx_cut hswa_cut(const struct hswa *s, enum fx_why why)
{
	return fx_standard(s->win.w / 2, why);
}

static __always_inline void hswa_congestion(struct hswa *s, enum fx_why why)
{
	s->win.flags &= ~HSWA_BEGUN;
}

static __always_inline void hswa_undo(struct hswa *s)
{
	s->win.flags &= ~HSWA_BEGUN;
}

static __always_inline void hswa_recovered(struct hswa *s, u8 limited)
{
}

static __always_inline void hswa_idle(struct hswa *s)
{
}

FX_HOST(hswa)

#endif
