/* Gives every TCP connection of a control group one algorithm, as the connection is established, on either side.
 *
 * The kernel runs the programs of the groups above as well, after this one. So that the innermost group decides, the program that has
 * chosen leaves a mark in the reply, which all of them see and which the kernel does not read for these two events. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SOL_TCP 6
#define TCP_CONGESTION 13

#define DECIDED 0x42505254

/* Filled in by the loader. */
const volatile char chosen[16];

SEC("sockops")
int choose(struct bpf_sock_ops *ctx)
{
	char name[16];

	if (ctx->op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB && ctx->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	if (ctx->reply == DECIDED)
		return 1;
	for (int i = 0; i < 16; i++)
		name[i] = chosen[i];
	if (bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, name, sizeof(name)) == 0)
		ctx->reply = DECIDED;
	return 1;
}
