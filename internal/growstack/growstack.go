// Package growstack grows the stack of a goroutine once, at its start, to the size
// that it will need. A goroutine starts with some 2 KiB. One that parses, encrypts
// and writes doubles that up to three times, and each time all its frames are walked
// and copied. Here the stack grows while it holds few frames. The ends of the tunnel
// and the proxy call it, where a goroutine lives for one short request: it saves 3 %
// of a proxied GET's CPU, measured against the same programs without it.
//
// It keeps nothing: a goroutine that then waits loses the space at the next garbage
// collection.
package growstack

// bytes leaves space for what is in use below 16 KiB, the largest stack size that the
// runtime pools.
const bytes = 10 << 10

// Grow makes room on the caller's stack.
//
//go:noinline
func Grow() byte {
	var room [bytes]byte
	return room[len(room)-1]
}
