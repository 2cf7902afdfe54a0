cd /sys/kernel/tracing || {{ mount -t tracefs t /sys/kernel/tracing; cd /sys/kernel/tracing; }}
[ -e kprobe_events ] || {{ mount -t tracefs t /sys/kernel/tracing; cd /sys/kernel/tracing; }}
echo 65536 > buffer_size_kb
echo mono > trace_clock
{probes}
for e in events/o/*/filter; do
case $e in events/o/cut/*) ;; *) echo 'port == {in_memory}' > $e;; esac
done
echo 1 > events/o/enable
echo 'dport == {port}' > events/tcp/tcp_probe/filter
echo 1 > events/tcp/tcp_probe/enable
cd /
ip netns exec s ping -c 1 -W 3 10.0.2.1
ip netns exec d transfer receive {port} &
sleep 1
ip netns exec s transfer send 10.0.2.1 {port} {link.seconds:g} &
{wait}
echo 0 > /sys/kernel/tracing/tracing_on
cat /sys/kernel/tracing/trace > /out/trace
cat /sys/kernel/tracing/kprobe_profile
tc -n r -s qdisc; uname -r
dmesg | tail -20
