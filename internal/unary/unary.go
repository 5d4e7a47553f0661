// Package unary is the protocol between hub and agent for requests that fit into one
// frame and whose answer is one frame: extension frames of HTTP/2 on the tunnel,
// beside HTTP/2's own streams (internal/wsconn carries them). Both ends of the tunnel
// call it; it keeps nothing and starts nothing.
//
//	hub --Ask(n, head)--> agent --Answer(n, head and body)--> hub
//	                            --Failed(n, why)-----------> hub
//	                            --Continue(n)--------------> hub --a stream that
//	    names n--> agent, which answers there
//	hub --Cancel(n)-----> agent
//
// Invariants: a frame is a number of 4 bytes, then at most MaxAnswer bytes; the hub
// numbers the requests of one connection upwards from 1, and drops a frame with a
// number that nobody waits for; an agent answers each Ask once, also if it was
// cancelled.
package unary

import (
	"encoding/binary"
	"fmt"
)

// Kind is the kind of a frame.
type Kind byte

// The kinds of frames. The hub sends Ask and Cancel, the agent the others.
const (
	// Ask carries the head of a request without a body.
	Ask Kind = iota + 1
	// Cancel says that the answer is no longer needed.
	Cancel
	// Answer carries the head of the answer and its complete body.
	Answer
	// Failed carries the reason why there is no answer, as text.
	Failed
	// Continue says that the answer is long, or takes time: the hub opens a stream
	// with the number in its header Header, and the answer arrives there.
	Continue
)

const (
	// MaxAnswer is the longest answer, head and body together. A frame delays others
	// for as long as it takes to send.
	MaxAnswer = 32 << 10
	// numberBytes is the length of a number.
	numberBytes = 4
	// MaxFrame is the longest payload of a frame.
	MaxFrame = numberBytes + MaxAnswer
)

// Header names the request that a stream continues.
const Header = "Axle-Continue"

// Frame returns the payload of a frame.
func Frame(number uint32, content []byte) []byte {
	frame := make([]byte, numberBytes, numberBytes+len(content))
	binary.BigEndian.PutUint32(frame, number)
	return append(frame, content...)
}

// Parse splits a frame's payload; the content is a slice of it.
func Parse(frame []byte) (number uint32, content []byte, err error) {
	if len(frame) < numberBytes || len(frame) > MaxFrame {
		return 0, nil, fmt.Errorf("a unary frame has %d bytes; %d to %d are possible", len(frame), numberBytes, MaxFrame)
	}
	return binary.BigEndian.Uint32(frame), frame[numberBytes:], nil
}
