/* What the datapath and the agent share: the slot of a flow (an array in mapped memory) and a report (in the ring buffer).
 * src/layout.rs mirrors both; sizes are asserted on either side.
 */
#ifndef BENTPIPE_LAYOUT_H
#define BENTPIPE_LAYOUT_H

#include <linux/types.h>

/* Counts changes of this file; a restarted agent refuses a datapath of another layout. */
#define LAYOUT 1

/* What a report tells of, besides the acknowledgement. */
enum {
	TELLS_OPEN = 1,
	TELLS_CLOSE = 2,
	TELLS_ACK = 4,
	TELLS_LOSS = 8,
	TELLS_ECN = 16,
	TELLS_TIMEOUT = 32,
	TELLS_UNDO = 64,
	TELLS_RECOVERED = 128,
	TELLS_IDLE = 256,
	TELLS_MSS = 512,
};

enum { PHASE_OPEN = 0, PHASE_RECOVERY = 1, PHASE_LOSS = 2 };

/* How an order wants segments spread in time. */
enum {
	PACE_OFF = 0,
	PACE_RATE = 1,
	/* A rate from cwnd / srtt, used only where the socket is paced already. */
	PACE_WINDOW = 2,
	/* The same, and the socket is paced. */
	PACE_WINDOW_ALWAYS = 3,
};

/* The news of one acknowledgement, or of several. Bytes. */
struct news {
	__u64 acked;
	__u64 uncounted;
	__u64 lost;
	__u64 ce;
	__u64 rtt_sum_us;
	__u64 rate;
	__u64 rate_prior_delivered;
	__u64 rate_prior_in_flight;
	__u32 acks;
	__u32 rtt_count;
	__u32 rtt_min_us;
	__u32 rtt_max_us;
	__u32 rtt_latest_us;
	__u8 rate_valid;
	__u8 rate_app_limited;
	__u8 round_end;
	__u8 pad;
};

/* One entry of the ring buffer. Bytes, but for windows: those are segments. */
struct report {
	__u64 id;
	__u64 number;
	__u64 t_ns;
	__u32 slot;
	__u32 tells;
	__u64 in_flight;
	__u64 delivered;
	__u64 lost;
	__u64 rwnd;
	__u64 round;
	__u32 mss;
	__u32 phase;
	__u32 srtt_us;
	__u32 rttvar_us;
	__u32 min_rtt_us;
	__u32 cwnd_limited;
	__u32 cwnd;
	__u32 ssthresh;
	/* Time from an order's own report to its being applied; 0 if none was applied since the last report. */
	__u64 applied_after_ns;
	struct news news;
};

struct standing {
	__u64 cwnd;
	__u64 ssthresh;
};

/* The agent's half of a slot: written by the agent alone, under a sequence count that is odd while it writes. Bytes. */
struct order {
	__u32 seq;
	__u8 pacing;
	__u8 own_recovery;
	/* 1 if an order before took the same report into account: a deadline of the controller has come since. */
	__u16 again;
	__u64 id;
	__u64 number;
	/* The number of the last report that the order takes into account, and when that was sent. */
	__u64 answers;
	__u64 report_ns;
	__u64 cwnd;
	__u64 ssthresh;
	__u64 rate;
	/* What to do at once if this congestion comes: loss, ECN, timeout. */
	struct standing loss;
	struct standing ecn;
	struct standing timeout;
	__u64 spare[2];
};

/* The kernel's half: written under the lock of the socket. */
struct slot {
	/* Number of the flow; 0 if the slot is free. */
	__u64 id;
	__u64 cookie;
	__u32 family;
	__u32 netns;
	__u32 local_port;
	__u32 remote_port;
	__u32 local[4];
	__u32 remote[4];
	__u64 opened_ns;

	__u64 reports;
	__u64 dropped;
	__u64 fallbacks;
	__u64 orders;
	__u64 applied;
	__u64 applied_ns;

	__u64 delivered;
	__u64 lost;
	__u64 round;
	__u64 pacing;
	__u32 cwnd;
	__u32 ssthresh;
	__u32 srtt_us;
	__u32 min_rtt_us;
	__u32 rttvar_us;
	__u32 in_flight;
	__u32 mss;
	__u32 state;

	/* Since when a report has stood unanswered; 0 if none does. */
	__u64 since_ns;
	__u64 seen_answers;
	/* Orders that answer less are older than what has happened since. */
	__u64 min_answer;
	__u64 want_cwnd;
	__u64 want_ssthresh;
	__u64 want_rate;
	__u64 prior_ssthresh;
	struct standing loss;
	struct standing ecn;
	struct standing timeout;
	__u64 applied_after_ns;

	__u32 next_round;
	__u32 last_delivered;
	__u32 last_lost;
	__u32 last_ce;
	__u32 last_una;
	__u32 tells;
	__u32 prr_delivered;
	__u8 pacing_kind;
	__u8 own_recovery;
	__u8 ordered;
	__u8 fallback;
	__u8 blocked;
	__u8 ece;
	__u8 episode;
	__u8 undone;
	__u32 pad;

	struct news news;
	__u64 spare[11];

	struct order order;
};

/* What all flows share. Only the first four members concern the kernel; the rest is for whoever looks at it from outside. */
struct control {
	__u64 last_id;
	__u32 layout;
	__u32 slots;
	/* Connections that found no free slot. */
	__u64 refused;
	__u64 agent_pid;
	__u64 about[60];
};

_Static_assert(sizeof(struct control) == 512, "src/layout.rs says 512");
_Static_assert(sizeof(struct news) == 88, "src/layout.rs says 88");
_Static_assert(sizeof(struct report) == 200, "src/layout.rs says 200");
_Static_assert(sizeof(struct order) == 128, "src/layout.rs says 128");
_Static_assert(sizeof(struct slot) == 640, "src/layout.rs says 640");

#endif
