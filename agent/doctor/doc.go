// Package doctor checks what an agent needs: name, hub, tunnel, identity, cluster,
// rights, disk and renderer. `axle-agent doctor` shows what it finds.
//
// It changes nothing and does not affect a running agent.
//
// Invariants: each check ends within 10 s; a problem says what to do; a fault of the hub
// is explained once.
package doctor
