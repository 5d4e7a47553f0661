package authproxy

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// cutting accepts some writes and then none.
type cutting struct {
	bytes.Buffer
	sizes []int
	takes int
}

func (c *cutting) Write(p []byte) (int, error) {
	if len(c.sizes) == c.takes {
		return 0, io.ErrClosedPipe
	}
	c.sizes = append(c.sizes, len(p))
	return c.Buffer.Write(p)
}

func TestAnswersLeaveInPieces(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789abcdef!"), 4000)
	to := &cutting{takes: 100}
	n, err := pieces{to}.Write(sent)
	if err != nil || n != len(sent) || !bytes.Equal(to.Bytes(), sent) {
		t.Fatalf("wrote %d of %d bytes, %v", n, len(sent), err)
	}
	for _, size := range to.sizes {
		// A frame's head has 9 bytes, and both fit a record of TLS.
		if size+9 > 16<<10 {
			t.Errorf("a piece has %d bytes", size)
		}
	}
	to = &cutting{takes: 2}
	if n, err := (pieces{to}).Write(sent); !errors.Is(err, io.ErrClosedPipe) || n != to.Len() {
		t.Errorf("a write that broke off after %d bytes said %d, %v", to.Len(), n, err)
	}
	if n, err := (pieces{&cutting{takes: 1}}).Write(nil); n != 0 || err != nil {
		t.Errorf("nothing was written as %d, %v", n, err)
	}
}
