/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* TCP-STAR in the kernel; see star.h. */
#include "shell.h"
#include "star.h"

SHELL_STATE_IN_SOCKET(star)

SHELL_NOTHING_ON_NEW(star)
SHELL(star, "bpn_star");
