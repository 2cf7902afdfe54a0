ip netns add s; ip netns add r; ip netns add d
ip link add s0 netns s type veth peer name r0 netns r
ip link add d0 netns d type veth peer name r1 netns r
ip netns exec s sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'
ip -n s addr add 10.0.1.1/24 dev s0
ip netns exec s ethtool -K s0 tso off gso off gro off
ip -n s link set s0 up
ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'
ip -n r addr add 10.0.1.2/24 dev r0
ip netns exec r ethtool -K r0 tso off gso off gro off
ip -n r link set r0 up
ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'
ip -n r addr add 10.0.2.2/24 dev r1
ip netns exec r ethtool -K r1 tso off gso off gro off
ip -n r link set r1 up
ip netns exec d sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'
ip -n d addr add 10.0.2.1/24 dev d0
ip netns exec d ethtool -K d0 tso off gso off gro off
ip -n d link set d0 up
ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
ip -n s route add 10.0.2.0/24 via 10.0.1.2 congctl lock {congestion} initcwnd 10
ip -n d route add 10.0.1.0/24 via 10.0.2.2
ip netns exec s sh -c 'echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save'
ip netns exec s sh -c 'echo 4096 65536 8388608 > /proc/sys/net/ipv4/tcp_wmem'
ip netns exec d sh -c 'echo 4096 131072 8388608 > /proc/sys/net/ipv4/tcp_rmem'
tc -n r qdisc add dev r1 root netem rate {link.rate_kbit}kbit limit {link.queue}
tc -n r qdisc add dev r0 root netem delay {link.rtt_ms}ms limit 10000
tc -n d qdisc add dev d0 ingress
