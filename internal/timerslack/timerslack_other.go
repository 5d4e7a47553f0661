//go:build !linux

package timerslack

// Widen does nothing: timer slack exists only on Linux.
func Widen() {}
