package assertion_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/assertion"
	"github.com/axle-cd/axle/internal/errcode"
)

// TestDearPatternsAreRefused holds that a pattern whose program is too large is refused
// when it is written, and that claims on which the patterns take too much match nothing.
func TestDearPatternsAreRefused(t *testing.T) {
	if err := assertion.CheckPatterns(map[string]string{"sub": "/" + strings.Repeat("(a{1000})", 20) + "/"}); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("a large program: %v", err)
	}
	patterns := map[string]string{"sub": "/ours(a?b?c?d?){200}x?.*/"}
	if err := assertion.CheckPatterns(patterns); err != nil {
		t.Fatal(err)
	}
	if err := assertion.Match(patterns, map[string]any{"sub": "oursabcd"}); err != nil {
		t.Errorf("a short claim: %v", err)
	}
	if err := assertion.Match(patterns, map[string]any{"sub": "ours" + strings.Repeat("abcd", 8<<10)}); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a long claim: %v", err)
	}
	list := make([]any, 100_000)
	for i := range list {
		list[i] = "abcdabcd!"
	}
	patterns = map[string]string{"sub": "/(a?b?c?d?){200}x/"}
	if err := assertion.Match(patterns, map[string]any{"sub": append(list, "x")}); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a claim of many values: %v", err)
	}
}
