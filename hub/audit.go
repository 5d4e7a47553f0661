package hub

import (
	"path/filepath"

	"github.com/axle-cd/axle/hub/event/audit"
)

// auditFile is this replica's memory of how far the audit log went.
const auditFile = "audit-checkpoint.json"

// newAudit makes the record of who did what.
func (h *Hub) newAudit() (*audit.Log, error) {
	return audit.New(audit.Config{
		Store: h.store, Signer: h.identity, Retention: h.config.AuditRetention, Kept: filepath.Join(h.config.DataDir, auditFile),
		Clock: h.config.Clock, Log: h.log,
	})
}
