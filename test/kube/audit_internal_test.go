package kube

import (
	"os"
	"strings"
	"testing"
)

// A mark taken while a record is being written lies before it: reading from the mark
// finds the record once it is whole.
func TestAuditMarkLiesBetweenRecords(t *testing.T) {
	c := &Cluster{server: server{dir: t.TempDir()}, cfg: ClusterConfig{Audit: true}}
	long := `{"verb":"` + strings.Repeat("x", 100<<10) + `"}`
	for _, tc := range []struct {
		written, rest string
		want          int
	}{
		{"", `{"verb":"get"}`, 1},
		{`{"ve`, `rb":"get"}`, 1},
		{`{"verb":"list"}` + "\n" + `{"ve`, `rb":"get"}`, 1},
		{`{"verb":"list"}` + "\n" + long[:90<<10], long[90<<10:], 1},
		{`{"verb":"list"}` + "\n", `{"verb":"get"}`, 1},
	} {
		if err := os.WriteFile(c.path("audit.log"), []byte(tc.written), 0o600); err != nil {
			t.Fatal(err)
		}
		mark, err := c.AuditMark()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.path("audit.log"), []byte(tc.written+tc.rest+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if events, err := c.AuditSince(mark); err != nil || len(events) != tc.want {
			t.Errorf("after %.20q: %d records, %v", tc.written, len(events), err)
		}
	}
}
