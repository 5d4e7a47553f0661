// Package queue orders the services that have a pass to come by their due times, and
// counts those whose pass runs. agent/poll calls it under its own lock.
//
// It runs nothing and knows of a service its id alone.
//
// Invariant: the first service is found without scanning the others, and each change
// costs in proportion to the logarithm of their number.
package queue
