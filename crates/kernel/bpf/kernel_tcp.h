/* The kernel's own structures, as far as the programs of this crate read or write them.
 *
 * Only names and types count: with preserve_access_index the loader finds each member's place in the running kernel's BTF
 * (CO-RE), so neither a vmlinux.h nor BTF is needed to compile, and one object serves every kernel that has the members.
 */
#ifndef BENTPIPE_KERNEL_TCP_H
#define BENTPIPE_KERNEL_TCP_H

#include <linux/types.h>
#include <stdbool.h>

#define AF_INET 2
#define AF_INET6 10

/* Values of icsk_ca_state (enum tcp_ca_state of the kernel's uapi). */
enum {
	CA_OPEN = 0,
	CA_DISORDER = 1,
	CA_CWR = 2,
	CA_RECOVERY = 3,
	CA_LOSS = 4,
};

/* Events of cwnd_event and flags of in_ack_event, as in the kernel's include/net/tcp.h. */
#define EVENT_TX_START 0
#define ACK_CARRIES_ECE 4
/* tcp_congestion_ops.flags: any user may choose it, and no write of a sysctl is refused (the refusal leaks a reference). */
#define CONG_NON_RESTRICTED 1

/* TCP_INFINITE_SSTHRESH of the kernel. */
#define INFINITE_SSTHRESH 0x7fffffff

/* Values of sk_pacing_status (enum sk_pacing). */
#define PACING_NONE 0
#define PACING_NEEDED 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	short unsigned int skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	struct {
		__s64 counter;
	} skc_cookie;
};

struct sock {
	struct sock_common __sk_common;
	__u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
};

struct minmax_sample {
	__u32 t;
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_wnd;
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
	__u32 prior_ssthresh;
	__u32 prr_out;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 max_packets_out;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 srtt_us;
	__u32 rttvar_us;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 lost;
	__u32 data_segs_out;
	__u8 is_cwnd_limited : 1;
};

struct rate_sample {
	__u64 prior_mstamp;
	__u32 prior_delivered;
	__s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	__u32 acked_sacked;
	__u32 prior_in_flight;
	bool is_app_limited;
};

#pragma clang attribute pop

/* The table of operations: members are matched by name, so the type of a function pointer does not matter here. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	void (*pkts_acked)(struct sock *sk, const void *sample);
	void (*cong_control)(struct sock *sk);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

/* The kernel's own reno, which the fallback uses (kfuncs of net/ipv4/bpf_tcp_ca.c). */
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __attribute__((section(".ksyms")));

#endif
