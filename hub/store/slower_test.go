//go:build !race

package store_test

// slower is how often the time of a promise passes under the race detector.
const slower = 1
