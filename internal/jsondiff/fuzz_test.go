package jsondiff_test

import (
	"encoding/json"
	"testing"

	"github.com/axle-cd/axle/internal/jsondiff"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzMessages compares any two values.
func FuzzMessages(f *testing.F) {
	f.Add(`{"a":{"b.c":1}}`, `{"a":{"b.c":2},"d":[]}`)
	f.Add(`{}`, `null`)
	f.Add(`[{}]`, `{"a":null}`)
	f.Add(`{"a":{"b":{}}}`, `{"a":{"b":7}}`)
	f.Fuzz(func(t *testing.T, one, two string) {
		// A path is as long as the keys above its field.
		taken.Few(t, (len(one)+len(two))*16, func() {
			changes, err := jsondiff.Messages(json.RawMessage(one), json.RawMessage(two))
			if err == nil && len(changes) == 0 {
				if back, err := jsondiff.Messages(json.RawMessage(two), json.RawMessage(one)); err != nil || len(back) != 0 {
					t.Errorf("%s and %s are equal, and the reverse differ: %v, %v", one, two, back, err)
				}
			}
		})
	})
}
