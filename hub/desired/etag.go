package desired

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
)

// format is the version of the etag's input. It changes when the meaning of a
// list changes, so that every agent fetches its list again.
const format = "axle-list 2"

// etagBytes of the hash are kept: enough that the etags of two lists of one
// cluster never collide, few enough for the smallest answer.
const etagBytes = 12

// makeETag hashes the content of the list. Sizes, names of clusters and
// positions are not part of it. The life is, because an agent must learn of a
// new one.
func (c *cluster) makeETag(l life) string {
	h := hasher{buf: make([]byte, 0, 256)}
	h.text(format)
	h.text(c.id)
	h.text(l.id)
	h.flag(l.confirmed)
	h.flag(c.pending)
	if !c.pending {
		for _, word := range c.meaning {
			h.buf = binary.BigEndian.AppendUint64(h.buf, word)
		}
	}
	for _, id := range c.former {
		h.text(id)
	}
	if c.destroying { // the etags of other lists stay as they were
		h.text("destroying")
	}
	full := sha256.Sum256(h.buf)
	return `W/"` + base64.RawURLEncoding.EncodeToString(full[:etagBytes]) + `"`
}

// meaning is the sum of the hashes of entries, as one 256-bit number: an entry
// that changes costs its own hash before and after, however many others there
// are, and equal entries give the same sum in any order.
type meaning [4]uint64

func (m *meaning) add(e *entry) {
	var carry uint64
	for i, word := range e.meaning() {
		m[i], carry = bits.Add64(m[i], word, carry)
	}
}

func (m *meaning) take(e *entry) {
	var borrow uint64
	for i, word := range e.meaning() {
		m[i], borrow = bits.Sub64(m[i], word, borrow)
	}
}

// meaning hashes everything of an entry that matters to an agent.
func (e *entry) meaning() (m meaning) {
	h := hasher{buf: make([]byte, 0, 512)}
	h.text(e.id)
	h.text(e.name)
	h.text(e.namespace)
	h.text(e.mode)
	h.text(e.tombstoneID)
	h.buf = append(h.buf, e.tarball[:]...)
	h.buf = append(h.buf, e.spec[:]...)
	h.flag(e.paused)
	if e.wait != waitNothing {
		h.buf = append(h.buf, byte(e.wait))
	}
	for _, p := range e.parts {
		h.text(p.path)
		h.text(p.entry)
		h.buf = append(h.buf, p.tarball[:]...)
	}
	sum := sha256.Sum256(h.buf)
	for i := range m {
		m[i] = binary.BigEndian.Uint64(sum[8*i:])
	}
	return m
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
