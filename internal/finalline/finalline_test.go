package finalline_test

import (
	"testing"

	"github.com/axle-cd/axle/internal/finalline"
)

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\n": "", "\r\n": "", "x": "x", "x\n": "x", "x\r\n": "x", "x\n\n": "x\n", " x \n": " x ", "one\ntwo\n": "one\ntwo", "x\r": "x\r",
	} {
		if got := finalline.Cut(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
