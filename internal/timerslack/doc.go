// Package timerslack lets the kernel delay a program's timers by a millisecond
// instead of 50 µs. While any thread of a Go program runs, the runtime's monitor
// thread checks every 20 µs whether the others make progress. A hub or an agent that
// carries requests runs in hundreds of short bursts a second, and the sleeping and
// waking of that thread was a sixth of its CPU. With the slack it wakes together with
// other timers.
//
// The kernel keeps the slack per thread, passes it to new threads, and keeps it when
// the process executes another program. The runtime starts its monitor thread before
// any of our code runs. So the program sets the slack and executes itself once, in
// the same process. cmd/axle-hub and cmd/axle-agent call the package first of all.
// Where it does not work, the program continues unchanged.
package timerslack
