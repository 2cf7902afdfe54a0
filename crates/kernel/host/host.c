/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The native programs with C linkage, for controller.rs: what a shell of the kernel calls, without the kernel. */
#include <stddef.h>
#include <string.h>

#include "window.h"

#include "a-liad.h"
#include "hswa.h"
#include "hybla.h"
#include "star.h"
#include "vegas-l.h"

/* The functions of one program; the same in controller.rs. */
struct program {
	size_t bytes;
	void (*init)(void *s, u64 w, u64 t);
	void (*measure)(void *s, u32 rtt_min, u32 rtt_last, u32 srtt8);
	void (*observe)(void *s, const struct fx_ack *ack);
	void (*grow)(void *s, const struct fx_ack *ack);
	struct fx_cut (*would_cut)(const void *s, u32 why);
	void (*congest)(void *s, u32 why, u8 reduced);
	void (*restore)(void *s, u64 w, u64 t);
	void (*recovered)(void *s, u8 limited);
	void (*idle)(void *s);
};

#define PROGRAM(NAME)                                                                                                  \
	static void NAME##_host_init(void *s, u64 w, u64 t)                                                            \
	{                                                                                                              \
		memset(s, 0, sizeof(struct NAME));                                                                     \
		NAME##_init(s, w, t);                                                                                  \
	}                                                                                                              \
	static void NAME##_host_measure(void *s, u32 rtt_min, u32 rtt_last, u32 srtt8)                                 \
	{                                                                                                              \
		struct NAME *state = s;                                                                                \
		fx_measure(&state->win, rtt_min, srtt8);                                                               \
		fx_measure(&state->win, rtt_last, srtt8);                                                              \
	}                                                                                                              \
	static void NAME##_host_observe(void *s, const struct fx_ack *ack)                                             \
	{                                                                                                              \
		NAME##_observe(s, ack);                                                                                \
	}                                                                                                              \
	static void NAME##_host_grow(void *s, const struct fx_ack *ack)                                                \
	{                                                                                                              \
		NAME##_grow(s, ack);                                                                                   \
	}                                                                                                              \
	static struct fx_cut NAME##_host_would_cut(const void *s, u32 why)                                             \
	{                                                                                                              \
		return NAME##_would_cut(s, why);                                                                       \
	}                                                                                                              \
	static void NAME##_host_congest(void *s, u32 why, u8 reduced)                                                  \
	{                                                                                                              \
		if (why == FX_TIMEOUT)                                                                                 \
			NAME##_collapse(s, reduced);                                                                   \
		else                                                                                                   \
			NAME##_congest(s, why);                                                                        \
	}                                                                                                              \
	static void NAME##_host_restore(void *s, u64 w, u64 t)                                                         \
	{                                                                                                              \
		NAME##_restore(s, w, t);                                                                               \
	}                                                                                                              \
	static void NAME##_host_recovered(void *s, u8 limited)                                                         \
	{                                                                                                              \
		struct NAME *state = s;                                                                                \
		NAME##_recovered(s, limited);                                                                          \
		fx_settle(&state->win);                                                                                \
	}                                                                                                              \
	static void NAME##_host_idle(void *s)                                                                          \
	{                                                                                                              \
		NAME##_idle(s);                                                                                        \
	}                                                                                                              \
	const struct program bentpipe_native_##NAME = {                                                                \
		sizeof(struct NAME),  NAME##_host_init,    NAME##_host_measure, NAME##_host_observe,                   \
		NAME##_host_grow,     NAME##_host_would_cut, NAME##_host_congest, NAME##_host_restore,                 \
		NAME##_host_recovered, NAME##_host_idle,                                                               \
	};

PROGRAM(a_liad)
PROGRAM(hswa)
PROGRAM(hybla)
PROGRAM(star)
PROGRAM(vegas_l)
