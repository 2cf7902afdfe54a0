/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A-LIAD in the kernel; see a-liad.h. */
#include "shell.h"
#include "a-liad.h"

SHELL_STATE_IN_MAP(a_liad)
SHELL_NOTHING_ON_NEW(a_liad)
SHELL(a_liad, "bpn_a_liad");
