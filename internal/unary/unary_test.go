package unary_test

import (
	"bytes"
	"testing"

	"github.com/axle-cd/axle/internal/unary"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0})
	f.Add(unary.Frame(1<<32-1, nil))
	f.Add(unary.Frame(7, []byte("what was asked")))
	f.Add(make([]byte, unary.MaxFrame+1))
	f.Fuzz(func(t *testing.T, frame []byte) {
		n, content, err := unary.Parse(frame)
		if (err == nil) != (len(frame) >= 4 && len(frame) <= unary.MaxFrame) {
			t.Fatalf("%d bytes: %v", len(frame), err)
		}
		if err == nil && !bytes.Equal(unary.Frame(n, content), frame) {
			t.Fatalf("%d and %q are not what was sent", n, content)
		}
	})
}
