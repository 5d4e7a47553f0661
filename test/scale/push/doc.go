// Package push measures how long a push takes from the delivery of its webhook
// until API servers have the change, on real clusters and with played agents
// beside them. `dev bench-push` calls Measure.
//
// Invariant: nobody polls, neither a cluster nor a repository, so that whatever
// arrives came by webhook and hint.
package push
