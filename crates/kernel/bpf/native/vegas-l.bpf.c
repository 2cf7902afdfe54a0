/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Vegas-L in the kernel; see vegas-l.h. */
#include "shell.h"
#include "vegas-l.h"

SHELL_STATE_IN_SOCKET(vegas_l)
SHELL_NOTHING_ON_NEW(vegas_l)
SHELL(vegas_l, "bpn_vegas_l");
