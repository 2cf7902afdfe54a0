/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* TCP-STAR in the kernel; see star.h. */
#include "shell.h"
#include "star.h"

SHELL_STATE_IN_SOCKET(star)

/* Bursts of ACKs are one sample of the bandwidth; see star.h. */
static __always_inline u64 star_clock(const struct star *s, u64 now)
{
	return star_instant(s, now);
}

SHELL_NOTHING_ON_NEW(star)
SHELL(star, "bpn_star");
