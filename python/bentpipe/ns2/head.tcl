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
