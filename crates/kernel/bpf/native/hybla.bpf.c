/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hybla in the kernel; see hybla.h. */
#include "shell.h"
#include "hybla.h"

SHELL_STATE_IN_SOCKET(hybla)

/* Hybla spreads its segments over the round trip; the kernel sets the rate itself. */
static __always_inline void hybla_on_new(struct sock *sk)
{
	if (sk->sk_pacing_status == PACING_NONE)
		sk->sk_pacing_status = PACING_NEEDED;
}

SHELL(hybla, "bpn_hybla");
