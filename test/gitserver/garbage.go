package gitserver

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
)

// mediaTypes are what real answers come as.
var mediaTypes = map[Kind]string{
	Connect: "application/x-git-upload-pack-advertisement",
	LsRefs:  "application/x-git-upload-pack-result",
	Fetch:   "application/x-git-upload-pack-result",
}

// garbage answers with bytes that mean nothing, after as good a beginning as
// the kind of request has.
func garbage(w http.ResponseWriter, kind Kind, asked []byte) {
	w.Header().Set("Content-Type", mediaTypes[kind])
	w.WriteHeader(http.StatusOK)
	_ = ready(w, kind, asked)
	_ = writeGarbage(w, kind)
}

func writeGarbage(w io.Writer, kind Kind) error {
	random := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, 4<<10)
	for i := range buf {
		buf[i] = byte(random.Uint32())
	}
	if kind != Fetch {
		_, err := w.Write(append([]byte("zzzz"), buf...))
		return err
	}
	if _, err := io.WriteString(w, "000dpackfile\n"); err != nil {
		return err
	}
	return band(w, append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x05"), buf...))
}

// ready ends the talk about what both sides have, where the client has one.
func ready(w io.Writer, kind Kind, asked []byte) error {
	for p := range packets(asked) {
		if kind == Fetch && strings.TrimSpace(string(p)) == "done" {
			return nil
		}
	}
	if kind != Fetch {
		return nil
	}
	_, err := io.WriteString(w, "0014acknowledgments\n000aready\n0001")
	return err
}

// bomb answers a fetch with the beginning of an endless blob: stored blocks of
// a zlib stream, which no receiver can make smaller.
func bomb(w http.ResponseWriter, bytes int64, asked []byte) {
	w.Header().Set("Content-Type", mediaTypes[Fetch])
	w.WriteHeader(http.StatusOK)
	if ready(w, Fetch, asked) != nil {
		return
	}
	if _, err := io.WriteString(w, "000dpackfile\n"); err != nil {
		return
	}
	head := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01")
	size, first := uint64(1<<40), byte(3<<4) // a blob
	head = append(head, first|byte(size&15)|0x80)
	for size >>= 4; size > 0x7f; size >>= 7 {
		head = append(head, byte(size&0x7f)|0x80)
	}
	head = append(head, byte(size), 0x78, 0x01)
	if band(w, head) != nil {
		return
	}
	block := make([]byte, 5+60000)
	n := len(block) - 5
	copy(block, []byte{0, byte(n), byte(n >> 8), ^byte(n), ^byte(n >> 8)})
	random := rand.New(rand.NewPCG(3, 4))
	for i := 5; i < len(block); i++ {
		block[i] = byte(random.Uint32())
	}
	for sent := int64(0); sent < bytes; sent += int64(len(block)) {
		if band(w, block) != nil {
			return
		}
	}
}

// band writes data as the pack of a side band.
func band(w io.Writer, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), 65000)
		if _, err := fmt.Fprintf(w, "%04x\x01", n+5); err != nil {
			return err
		}
		if _, err := w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
