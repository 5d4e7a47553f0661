// Package timerslack lets the kernel be late with a program's timers, by a
// millisecond rather than 50 µs. A Go program has a thread that looks every 20 µs
// whether the others get on, as long as any of them runs; a hub or an agent that
// carries requests runs in short bursts, hundreds a second, and that thread's
// sleeping and waking was a sixth of its CPU. With the slack it wakes where
// something else does anyway.
//
// The kernel keeps the slack per thread, gives it to threads that are started
// and keeps it when the process is replaced by another program. The runtime
// starts its thread before any code of ours; so the program sets the slack and
// executes itself, once, in the same process. cmd/axle-hub and cmd/axle-agent
// call it first of all; it knows nothing of them. Where it does not work the
// program goes on as it is.
package timerslack
