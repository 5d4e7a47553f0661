// Package identity is an agent's identity at the hub and the key of its disk, and where
// they are stored: a Secret beside the agent, or a file for an agent outside its cluster.
//
// It registers nothing and renews nothing; package agent does.
//
// Invariants: all of it is secret, and no error quotes it; a damaged identity is an
// error and never replaced; at most 16 former keys are kept.
package identity
