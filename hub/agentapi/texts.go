package agentapi

import (
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/internal/plain"
)

// The limits of an agent's texts, in bytes.
const (
	maxText = 4 << 10
	// maxVersion is for what a list shows in a column, maxID for ids that the
	// hub knows.
	maxVersion = 128
	maxID      = 256
	// maxTestTail is for the end of a test's log.
	maxTestTail = 32 << 10
)

// plainText limits and cleans every text of a message of an agent: it is read
// on terminals and pages, and whoever controls a cluster writes it. Ids,
// digests and signed data have no such characters, so a message that this
// changes was malicious, or merely becomes shorter.
func plainText(m proto.Message) {
	plain.Message(m, func(field, text string) string {
		switch field {
		case "message", "error":
			return plain.Text(text, maxText)
		case "tail":
			return plain.Tail(text, maxTestTail)
		case "agent_version", "kubernetes_version", "distro":
			return plain.Line(text, maxVersion)
		case "service_id", "ids", "drained_tombstones", "base_hash", "new_hash", "boot_id", "cluster_uid", "cluster_id", "key":
			return plain.Line(text, maxID)
		}
		return plain.Line(text, maxText)
	})
}
