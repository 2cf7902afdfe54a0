/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * TCP Hybla: C. Caini, R. Firrincieli: TCP Hybla: a TCP Enhancement for Heterogeneous Networks, International Journal of
 * Satellite Communications and Networking, 2004. The rules and decisions are those of crates/cc/src/algorithms/hybla.rs with
 * its default parameters: RTT0 = 25 ms, growth once per ACK, ssthresh estimated by Hoe's packet pairs, exponent at most 16.
 *
 * Rules: rho = max(RTT / RTT0, 1) of the smallest smoothed RTT -> hybla_observe; slow start W + 2^rho - 1 per ACK ->
 * hybla_slow_start; congestion avoidance W + rho^2 / W per ACK -> hybla_avoid; half the window stays after a loss.
 *
 * What differs in fixed point: rho is Q32, exact to 2^-32. 2^rho - 1 has a relative error below 2^-28, so at most 2^-12
 * segments where an ACK brings 65535. The window's error per ACK is below 2^-24 segments in congestion avoidance.
 * What differs in the kernel: rho follows srtt_us, which is in eighths of a microsecond. The initial window is the kernel's.
 * An ACK that the network card or the receive offload has merged of several counts once.
 */
#ifndef BENTPIPE_HYBLA_H
#define BENTPIPE_HYBLA_H

#include "window.h"

/* RTT0 in eighths of a microsecond. */
#define HYBLA_RTT0 200000
/* Largest rho in the exponent of slow start. */
#define HYBLA_EXPONENT_CAP (16 * FX_ONE)

struct hybla {
	struct fx_window win;
	/* rho, and the growth per ACK of slow start, 2^rho - 1; both Q32. */
	u64 rho, jump;
	/* When the ACK before the last, and the last, came, us; 0 for none. */
	u64 first, middle;
	/* Smallest smoothed RTT, eighths of us; 0 before the first. */
	u32 srtt_min;
	/* Segments of the last ACK. */
	u32 middle_segments;
	/* Hoe's estimate: so many segments took so many us; 0 before there is one. */
	u32 pair_segments, pair_us;
};

static __always_inline void hybla_begin(struct hybla *s)
{
	s->rho = FX_ONE;
	s->jump = FX_ONE;
}

static __always_inline void hybla_pair(struct hybla *s, u32 segments, u64 now)
{
	if (s->pair_us)
		return;
	if (s->first && now > s->first && now - s->first <= s->win.rtt_min / 2) {
		s->pair_segments = s->middle_segments + segments;
		s->pair_us = now - s->first;
	}
	s->first = s->middle;
	s->middle = now;
	s->middle_segments = segments;
}

static __always_inline void hybla_observe(struct hybla *s, const struct fx_ack *ack)
{
	u32 srtt8 = s->win.srtt8;

	if (!s->win.rtt_min)
		return;
	if (!s->srtt_min || srtt8 < s->srtt_min) {
		s->srtt_min = srtt8;
		s->rho = fx_max(fx_div(srtt8, HYBLA_RTT0), FX_ONE);
		s->jump = fx_exp2(fx_min(s->rho, HYBLA_EXPONENT_CAP)) - FX_ONE;
	}
	if (ack->acked)
		hybla_pair(s, ack->acked, ack->now);
}

static __always_inline u64 hybla_slow_start(struct hybla *s, const struct fx_ack *ack, u64 n)
{
	if (ack->loss)
		return fx_exponential(&s->win, n);
	if (s->win.t == FX_INFINITE) {
		if (!s->pair_us)
			return fx_exponential(&s->win, n);
		s->win.t = fx_div((u64)s->pair_segments * s->win.rtt_min, s->pair_us);
		s->win.t = fx_max(s->win.t, 2 * FX_ONE);
	}
	fx_exponential(&s->win, s->jump);
	return 0;
}

static __always_inline void hybla_avoid(struct hybla *s, const struct fx_ack *ack, u64 n)
{
	if (ack->loss)
		fx_additive(&s->win, n);
	else
		s->win.w += fx_ratio(fx_mul(s->rho, s->rho), s->win.w);
}

static __always_inline struct fx_cut hybla_cut(const struct hybla *s, enum fx_why why)
{
	return fx_standard(s->win.w / 2, why);
}

static __always_inline void hybla_congestion(struct hybla *s, enum fx_why why)
{
}

static __always_inline void hybla_undo(struct hybla *s)
{
}

static __always_inline void hybla_recovered(struct hybla *s, u8 limited)
{
}

static __always_inline void hybla_idle(struct hybla *s)
{
}

FX_HOST(hybla)

#endif
