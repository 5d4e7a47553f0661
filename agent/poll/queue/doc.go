// Package queue orders the services that have a pass to come by their due times, gives the
// projects of a cluster their turns, and counts those whose pass runs. agent/poll calls it
// under its own lock.
//
// It runs nothing and knows of a service its id and its project alone.
//
// Invariants: the first service is found without scanning the others, and each change
// costs in proportion to the logarithm of their number and to the number of projects; of
// two projects with room, however many services of one are due, neither has two turns
// while the other waits.
package queue
