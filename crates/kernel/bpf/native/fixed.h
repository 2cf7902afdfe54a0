/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fixed-point arithmetic for congestion controllers in the kernel. It compiles for BPF and for the host alike: no floats,
 * no signed division, no loop without a constant bound, no branch inside a loop.
 *
 * Numbers are Q32 unless a name says otherwise: an unsigned 64-bit integer that counts 2^-32. Windows and thresholds are Q32
 * segments, below 2^24 segments. Times are whole microseconds (the kernel's unit for RTT samples), RTTs below 2^24 us.
 * Every function rounds down. The error of one operation is below 2^-31 of a segment unless it is stated.
 */
#ifndef BENTPIPE_FIXED_H
#define BENTPIPE_FIXED_H

#ifdef __bpf__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

#ifdef __always_inline
#undef __always_inline
#endif
#define __always_inline inline __attribute__((always_inline))

/* 1 in Q32. */
#define FX_ONE (1ULL << 32)
/* One half in Q32. */
#define FX_HALF (1ULL << 31)
/* No threshold yet; above every window. */
#define FX_INFINITE (~0ULL)
/* The largest window, Q32 segments. The divisions below need it to stay under 2^56. */
#define FX_LARGEST (((1ULL << 24) - 1) << 32)
/* The largest RTT, us. */
#define FX_LONGEST_RTT ((1U << 24) - 1)
/* Microseconds in a second. */
#define FX_SECOND 1000000ULL

static __always_inline u64 fx_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static __always_inline u64 fx_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* a - b, or 0 if b is larger. */
static __always_inline u64 fx_less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* a * b / 2^32 by a product of 128 bits; the result must be below 2^64. */
static __always_inline u64 fx_mul(u64 a, u64 b)
{
	u64 a1 = a >> 32, a0 = (u32)a, b1 = b >> 32, b0 = (u32)b;

	return ((a1 * b1) << 32) + a1 * b0 + a0 * b1 + ((a0 * b0) >> 32);
}

/*
 * n / d in Q32, for any whole numbers (or numbers of the same format) with d < 2^48 and n / d < 2^32; exact to the last bit.
 * 0 if d is 0. A long division of 16 bits at a time, or of 32 where d allows it.
 */
static __always_inline u64 fx_div(u64 n, u64 d)
{
	u64 whole, rest, high;

	if (!d)
		return 0;
	whole = n / d;
	rest = n - whole * d;
	if (!(d >> 32))
		return (whole << 32) + (rest << 32) / d;
	high = (rest << 16) / d;
	rest = (rest << 16) - high * d;
	return (whole << 32) + (high << 16) + (rest << 16) / d;
}

/* n / w in Q32 for two Q32 numbers with w < 2^56, such as the growth per segment n / W. Relative error below 2^-24 / w. */
static __always_inline u64 fx_ratio(u64 n, u64 w)
{
	return fx_div(n >> 8, w >> 8);
}

/* a * n / d for n <= d < 2^32, exact but for the rounding down. */
static __always_inline u64 fx_share(u64 a, u32 n, u32 d)
{
	u64 whole;

	if (!d)
		return a;
	whole = a / d;
	return whole * n + ((a - whole * d) * n) / d;
}

/* Microseconds in seconds, Q40; below 2^44 for RTTs. */
static __always_inline u64 fx_seconds_q40(u32 us)
{
	return ((u64)us << 40) / FX_SECOND;
}

/* The position of the highest bit of x, which must not be 0. */
static __always_inline u32 fx_top_bit(u64 x)
{
	u32 top = 0, up;

	up = (x >> 32 != 0) << 5, top += up, x >>= up;
	up = (x >> 16 != 0) << 4, top += up, x >>= up;
	up = (x >> 8 != 0) << 3, top += up, x >>= up;
	up = (x >> 4 != 0) << 2, top += up, x >>= up;
	up = (x >> 2 != 0) << 1, top += up, x >>= up;
	return top + (u32)(x >> 1);
}

/*
 * log2 of a whole number from 1 to 2^31, Q32. The mantissa is squared 32 times; each squaring yields one bit. Error below
 * 2^-27: each of 32 roundings costs at most 2^-31, halved with every bit that follows.
 */
static __always_inline u64 fx_log2(u32 x)
{
	u32 top = fx_top_bit(x);
	u64 m = (u64)x << (31 - top); /* Q31, from 1 to 2 */
	u64 log = top;

	for (int i = 0; i < 32; i++) {
		u64 bit;

		m = (m * m) >> 31;
		bit = m >> 32;
		m >>= bit;
		log = (log << 1) | bit;
	}
	return log;
}

/* 2^x for x from 0 to 1, both Q32: the exponential series, twelve terms. Error below 2^-29. */
static __always_inline u64 fx_exp2_fraction(u64 x)
{
	u64 y = fx_mul(x, 2977044472ULL); /* ln 2 */
	u64 sum = FX_ONE;

	for (u32 k = 12; k > 0; k--)
		sum = FX_ONE + fx_mul(y, sum) / k;
	return sum;
}

/* 2^x in Q32 for x from 0 to 31 in Q32. Relative error below 2^-29. */
static __always_inline u64 fx_exp2(u64 x)
{
	return fx_exp2_fraction((u32)x) << ((x >> 32) & 31);
}

/* 2^-x in Q32 for x from 0 to 31 in Q32. Error below 2^-29. */
static __always_inline u64 fx_exp2_negative(u64 x)
{
	return fx_exp2_fraction(FX_ONE - (u32)x) >> (((x >> 32) & 31) + 1);
}

#endif
