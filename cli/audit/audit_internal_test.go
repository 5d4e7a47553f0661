package audit

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzRecords shows any text as a record of the audit log.
func FuzzRecords(f *testing.F) {
	for _, text := range []string{`{"at":1,"actor":"a","action":"b","kind":"service"}`, `{"at":9223372036854775807}`, `{"at":"x"}`, `[]`, `null`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		taken.Few(t, len(text), func() { _, _ = newAuditView(&hubv1.AuditRecord{Seq: 1, Record: text}) })
	})
}
