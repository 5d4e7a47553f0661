package desired

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// format is the version of the etag's input. It changes when the meaning of a
// list changes, so that every agent takes its list once more.
const format = "axle-list 1"

// etagBytes of the hash are kept: enough that two lists of one cluster never
// meet, few enough for the smallest answer.
const etagBytes = 12

// makeETag hashes what the list means. Sizes, names of clusters and positions
// are not part of it. The life is: an agent has to hear of a new one.
func (c *cluster) makeETag(l life) string {
	h := hasher{buf: make([]byte, 0, 1024)}
	h.text(format)
	h.text(c.id)
	h.text(l.id)
	h.flag(l.confirmed)
	h.flag(c.pending)
	if !c.pending {
		for _, e := range c.entries {
			h.text(e.id)
			h.text(e.name)
			h.text(e.namespace)
			h.text(e.mode)
			h.text(e.tombstoneID)
			h.buf = append(h.buf, e.tarball[:]...)
			h.buf = append(h.buf, e.spec[:]...)
			h.flag(e.paused)
			// A service of one part is hashed as before there were parts.
			for _, p := range e.parts {
				h.text(p.path)
				h.text(p.entry)
				h.buf = append(h.buf, p.tarball[:]...)
			}
		}
	}
	full := sha256.Sum256(h.buf)
	return `W/"` + base64.RawURLEncoding.EncodeToString(full[:etagBytes]) + `"`
}

// hasher collects length-prefixed parts.
type hasher struct{ buf []byte }

func (h *hasher) text(s string) {
	h.buf = binary.BigEndian.AppendUint32(h.buf, uint32(len(s)))
	h.buf = append(h.buf, s...)
}

func (h *hasher) flag(on bool) {
	b := byte(0)
	if on {
		b = 1
	}
	h.buf = append(h.buf, b)
}
