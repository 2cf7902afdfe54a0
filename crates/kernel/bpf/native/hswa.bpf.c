/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* HSWA-TCP in the kernel; see hswa.h. */
#include "shell.h"
#include "hswa.h"

SHELL_STATE_IN_MAP(hswa)
SHELL_NOTHING_ON_NEW(hswa)
SHELL(hswa, "bpn_hswa");
