/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Hoe's estimate of the bandwidth-delay product in slow start: J. C. Hoe: Improving the Start-up Behavior of a Congestion Control
 * Scheme for TCP, ACM SIGCOMM, 1996. The decisions are those of crates/cc/src/algorithms/hoe.rs: the median over rounds of the
 * medians of three close gaps between ACKs.
 *
 * Rates are Q24 segments per second, at most 2^27, rounded down.
 */
#ifndef BENTPIPE_HOE_H
#define BENTPIPE_HOE_H

#include "window.h"

/* Gaps that a round takes, and rounds that are remembered (a power of two). */
#define HOE_GAPS 3
#define HOE_ROUNDS 16
/* The largest rate, Q24 segments per second: times the longest RTT in Q40 it must stay below 2^96. */
#define HOE_LARGEST_RATE (1ULL << 51)
/* Segments between two instants at most: their number times 10^6 in Q24 must fit into 64 bits. */
#define HOE_LARGEST_BURST (1U << 19)

struct hoe {
	/* Medians of past rounds. */
	u64 rounds[HOE_ROUNDS];
	/* Rates of this round's gaps. */
	u64 gaps[HOE_GAPS];
	/* The last ACK's time, us; 0 for none. */
	u64 at;
	/* Segments acknowledged since. */
	u32 pending;
	u32 taken, done;
};

/* Keeps the compiler from making a branch of a number that it has seen made of a comparison. */
#define HOE_OPAQUE(x) __asm__ volatile("" : "+r"(x))

/* 1 if a < b, else 0, without a branch; both below 2^63. */
static __always_inline u64 hoe_below(u64 a, u64 b)
{
	u64 difference = a - b;

	HOE_OPAQUE(difference);
	return difference >> 63;
}

/* Takes a rate into the round's gaps; indices that the verifier can follow. */
static __always_inline void hoe_gap(struct hoe *hoe, u64 rate)
{
	if (hoe->taken == 0)
		hoe->gaps[0] = rate;
	else if (hoe->taken == 1)
		hoe->gaps[1] = rate;
	else
		hoe->gaps[2] = rate;
	hoe->taken++;
}

static __always_inline void hoe_add(struct hoe *hoe, u32 segments, u64 now, u32 rtt_min)
{
	u64 gap = now - hoe->at;
	u8 first = !hoe->at;

	hoe->pending = fx_min(hoe->pending + segments, HOE_LARGEST_BURST);
	if (!first && now <= hoe->at)
		return;
	if (!first && 4 * gap <= rtt_min && hoe->taken < HOE_GAPS)
		hoe_gap(hoe, fx_min((hoe->pending * FX_SECOND << 24) / gap, HOE_LARGEST_RATE));
	hoe->at = now;
	hoe->pending = 0;
}

/* Takes an ACK; 1 if it ended a round that had an estimate. */
static __always_inline u8 hoe_observe(struct hoe *hoe, const struct fx_window *win, const struct fx_ack *ack)
{
	u64 a, b, c;
	u32 taken;

	if (win->rtt_min && ack->acked)
		hoe_add(hoe, ack->acked, ack->now, win->rtt_min);
	if (!ack->round_end)
		return 0;
	taken = hoe->taken;
	hoe->taken = 0;
	if (taken != HOE_GAPS)
		return 0;
	/* The middle one of three. */
	a = hoe->gaps[0], b = hoe->gaps[1], c = hoe->gaps[2];
	hoe->rounds[hoe->done % HOE_ROUNDS] = fx_max(fx_min(a, b), fx_min(fx_max(a, b), c));
	hoe->done++;
	return 1;
}

/*
 * The estimate times RTTmin, Q32 segments: the middle value of the rounds, or the mean of the two. A value's place in order is
 * the number of those that are smaller, or equal and earlier.
 */
static __always_inline u64 hoe_window(const struct hoe *hoe, const struct fx_window *win)
{
	u32 n = fx_min(hoe->done, HOE_ROUNDS);
	u32 low = (n - 1) / 2, high = n / 2;
	u64 sum = 0;

	for (u32 i = 0; i < HOE_ROUNDS; i++) {
		u64 mine = hoe->rounds[i], place = 0, is_low, is_high;

		for (u32 j = 0; j < HOE_ROUNDS; j++) {
			u64 other = hoe->rounds[j] + hoe_below(i, j);

			place += hoe_below(other, mine + 1) & hoe_below(j, n) & hoe_below(0, i ^ j);
		}
		is_low = hoe_below(place, low + 1) & hoe_below(low, place + 1);
		is_high = hoe_below(place, high + 1) & hoe_below(high, place + 1);
		sum += mine * ((is_low + is_high) * hoe_below(i, n));
	}
	return fx_mul(sum / 2, fx_seconds_q40(win->rtt_min));
}

#endif
