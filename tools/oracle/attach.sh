
oracle_guest {how} {cc} 10 > {result}.json 2> {result}.err &
sleep 2
ip -n s route replace 10.0.2.0/24 via 10.0.1.2 congctl lock {name} initcwnd 10 2> {result}.route
ip netns exec d sh -c "grep d0: /proc/net/dev | tr -s ' ' | cut -d ' ' -f 3" > {result}.before
ip netns exec d transfer receive {port} &
sleep 0.5
ip netns exec s transfer send 10.0.2.1 {port} {seconds:g} &
sleep {but_one:g}
ip netns exec s ss -tin > {result}.ss 2>&1
sleep 1
ip netns exec d sh -c "grep d0: /proc/net/dev | tr -s ' ' | cut -d ' ' -f 3" > {result}.after
sleep 4
ip -n s route replace 10.0.2.0/24 via 10.0.1.2
cat /proc/sys/net/ipv4/tcp_available_congestion_control > {result}.left
