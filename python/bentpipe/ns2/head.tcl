remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns use-scheduler {scheduler}
# No connection set-up: with syn_ the first packet carries no payload, with delay_growth_ the window waits for
# its echo.
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
# ns-2 2.35 counts RED's queue in bytes, drops in proportion to size, and drops what it should mark once the
# probability is 0.1.
Queue/RED set queue_in_bytes_ false
Queue/RED set use_mark_p_ false
# One stream per source of randomness, one of its substreams per seed.
proc draws {seed} {
  set draw [new RNG]
  for {set i 0} {$i < $seed} {incr i} { $draw next-substream }
  return $draw
}
# CPU time of this process so far, ns; Linux tells.
proc spent {} {
  if {[catch {open /proc/self/schedstat} file]} { return -1 }
  set all [read $file]
  close $file
  return [lindex $all 0]
}
# Data packets that the application behind a sink got. Its own count is in bytes, the first packet without its
# header, hence the rounding; and of 32 bits, so the acknowledged packets say how often it went round.
proc received {sink acked size} {
  return [expr $acked + (([$sink set bytes_] - $acked * $size + $size / 2) & 0xffffffff) / $size]
}
proc lose {errors draw from to} {
  global ns
  if {$draw != ""} {
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng $draw
    $errors ranvar $uniform
  }
  # Behind the link's delay; `lossmodel` would sit in front of the queue.
  $ns link-lossmodel $errors $from $to
  # Only now: the line above directs its drops to where a monitor counts those of the queue.
  $errors drop-target [new Agent/Null]
}
# Sender and receiver i on their nodes, and an application that always has data. `bits` is the payload of a
# segment, `size` what it has on the wire in bytes.
proc transfer {i from to bits size} {
  global ns tcp sink source payload whole
  $ns attach-agent $from $tcp($i)
  $ns attach-agent $to $sink($i)
  $ns connect $tcp($i) $sink($i)
  set source($i) [new Application/FTP]
  set payload($i) $bits
  set whole($i) $size
  $source($i) attach-agent $tcp($i)
}
# ns-2 resets every agent when the simulation begins, so threshold and module are set only then.
proc begin {i threshold module} {
  global ns tcp source started
  set started($i) [$ns now]
  if {$threshold != ""} { $tcp($i) set ssthresh_ $threshold }
  if {$module != ""} { $tcp($i) select_ca $module }
  $source($i) start
}
# The windows of all flows, now and after each step.
proc sample {step flows} {
  global ns tcp
  for {set i 0} {$i < $flows} {incr i} {
    puts "window [$ns now] $i [$tcp($i) set cwnd_] [$tcp($i) set ssthresh_]"
  }
  $ns at [expr [$ns now] + $step] "sample $step $flows"
}
# The counts of all flows and watched queues at the end.
proc finish {duration flows} {
  global tcp sink payload whole started watch
  for {set i 0} {$i < $flows} {incr i} {
    set counts [expr [$tcp($i) set ack_] + 1]
    foreach name {ndatapack_ nrexmitpack_ nrexmit_ ncwndcuts_} { lappend counts [$tcp($i) set $name] }
    lappend counts [received $sink($i) [lindex $counts 0] $whole($i)]
    set goodput 0.0
    if {[info exists started($i)]} {
      set goodput [expr [lindex $counts 0] * $payload($i) / ($duration - $started($i))]
    } else {
      set started($i) $duration
    }
    puts "flow $started($i) $goodput $counts"
  }
  foreach name [lsort [array names watch]] {
    set waiting [$watch($name) get-pkts-integrator]
    $waiting newpoint $duration [$waiting set lasty_]
    set counts {}
    foreach count {parrivals_ pdrops_ pmarks_} { lappend counts [$watch($name) set $count] }
    puts "link $name $counts [expr [$waiting set sum_] / $duration]"
  }
  exit 0
}
