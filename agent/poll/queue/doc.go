// Package queue orders the services that have a pass to come by their due times, within each
// project of a cluster, and counts those whose pass runs. agent/poll calls it under its own
// lock, and its pool of passes gives the projects their turns.
//
// It runs nothing and knows of a service its id and its project alone.
//
// Invariants: the first service is found without scanning the others, and each change
// costs in proportion to the logarithm of their number and to the number of projects.
package queue
