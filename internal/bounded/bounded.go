// Package bounded decodes texts that somebody else wrote, within a bound of what they
// become in memory. Two bytes of protobuf, or three of JSON, are an element of a list,
// and that element may be a struct of several hundred bytes: a limit of the text's
// length says little about the memory that decoding takes.
//
// Each decoder first walks the text once, without allocating, and adds up what its
// elements will take. A text that would become more than its bound, or that is nested
// deeper than MaxDepth, is refused before anything of it is built. The sum is an upper
// bound: a little more than what is really taken, so that it holds on each platform.
package bounded

import (
	"errors"
	"fmt"
)

const (
	// MaxDepth is how deeply a text may be nested: far more than a manifest, and less than
	// what grows a stack noticeably.
	MaxDepth = 100
	// Times is how much larger than its longest text a message may become, and Least is
	// what any message may become. Messages that people and agents send become two to
	// six times as large as their texts (TestRealTextsFit).
	Times = 8
	Least = 1 << 20
)

// ErrTooLarge is wrapped by the errors of texts that would become too large.
var ErrTooLarge = errors.New("it is larger in memory than is allowed")

// Most is what a message of at most so many bytes of text may become.
func Most(text int) int { return max(Times*text, Least) }

// tooLarge and tooDeep name the limit, how far the text was within it, and the way out.
func tooLarge(most int, at string) error {
	return fmt.Errorf("%w: its elements would take more than %d bytes, which they reach at %s; send fewer at once", ErrTooLarge, most, at)
}

func tooDeep(at string) error {
	return fmt.Errorf("%w: it is nested more than %d times, at %s; send it less deep", ErrTooLarge, MaxDepth, at)
}
