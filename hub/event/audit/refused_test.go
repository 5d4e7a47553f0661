package audit_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// TestRefusedStrangersAreCounted has strangers of one network, of the networks of one site,
// and of many sites: each time the rows are few, and rows and counts are all of them.
func TestRefusedStrangersAreCounted(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		for name, c := range map[string]struct {
			from func(n int) string
			most int
		}{
			"one address":          {func(int) string { return "192.0.2.7:443" }, 50},
			"networks of one site": {func(n int) string { return fmt.Sprintf("[2001:db8:1:%x::1]:443", n) }, 100},
			"many sites":           {func(n int) string { return fmt.Sprintf("[2001:db8:%x::1]:443", n) }, 200},
		} {
			l, err := audit.New(audit.Config{Chain: j.store, Checkpoints: j.store, Cursors: j.store, Signer: j.notary, Clock: j.clock})
			if err != nil {
				t.Fatal(err)
			}
			const all = 10_000
			before := len(j.rows(audit.Query{Action: audit.ActionRefused, Limit: 1000}))
			for n := range all {
				l.Refused(t.Context(), c.from(n), audit.Record{Action: name, Result: "unauthorized"})
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			rows, counted := len(j.rows(audit.Query{Action: name, Limit: 1000})), 0
			for _, row := range j.rows(audit.Query{Action: audit.ActionRefused, Limit: 1000})[before:] {
				r, err := row.Open()
				if err != nil {
					t.Fatal(err)
				}
				n, err := strconv.Atoi(r.Detail["refused"])
				if err != nil {
					t.Fatal(err)
				}
				counted += n
			}
			if rows != c.most || rows+counted != all {
				t.Errorf("%s: %d requests have %d records, want %d, and %d are counted", name, all, rows, c.most, counted)
			}
		}
	})
}
